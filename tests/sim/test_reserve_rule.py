# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The options beyond the paper: the C logic does what the oracle says, frame by frame."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclone_host.attach import tables
from tests.conformance.frames import C1, Frame, request, response, server
from tests.conformance.runners.native import LIBRARY, Native
from tests.conformance.runners.oracle import Oracle
from tests.conformance.scenario import Scenario, Step
from tests.conformance.writing import WIRE, Book

SERVERS = 3
WORKERS = 3
FULL = 1 << 16
REFUSES = 1 << 31
STATES = st.one_of(
    st.sampled_from([0, 1, FULL, FULL - WORKERS, REFUSES, 2**32 - 1, 2**31 - 1]),
    st.integers(FULL - 3, FULL + 3),
    st.integers(FULL - 3, FULL + 3).map(lambda load: load | REFUSES),
)


@pytest.fixture(autouse=True)
def built() -> None:
    assert LIBRARY.exists(), "run 'make build'"


def both(scenario: Scenario) -> tuple[Oracle, Native]:
    oracle, native = Oracle(), Native()
    for target in (oracle, native):
        target.start(scenario)
    return oracle, native


def feed(targets: tuple[Oracle, Native], port: int, frame: Frame) -> Any:
    """What both did with the frame, which must be the same."""
    oracle, native = (target.feed(Step(port, frame.bytes(), [], {})) for target in targets)
    assert native.counters == oracle.counters
    assert sorted(native.frames) == sorted(oracle.frames)
    return native


switch_steps = st.lists(
    st.one_of(
        st.tuples(st.just("request"), st.integers(1, SERVERS * (SERVERS - 1)), st.just(0)),
        st.tuples(st.just("response"), st.integers(0, SERVERS - 1), STATES),
    ),
    max_size=30,
)


@settings(max_examples=150)
@given(
    steps=switch_steps,
    option=st.sampled_from(
        [{"reserve": True}, {"cloning": False}, {"cloning": False, "racksched": True}]
    ),
)
def test_switch(steps: list[tuple[str, int, int]], option: dict[str, bool]) -> None:
    book = Book()
    scenario = book.switch("options", "differential", SERVERS)
    scenario.config |= option
    targets = both(scenario)
    for kind, number, state in steps:
        if kind == "request":
            seen = feed(targets, C1.port, request(grp=number))
            if not option.get("cloning", True):
                assert seen.counters == {"ingress.not_cloned": 1}
        else:
            feed(targets, number + 1, response(number, state=state))
        states = [target.tables()["state"] for target in targets]
        ours = {sid: value for sid, value in states[1].items() if value}
        assert ours == {sid: value for sid, value in states[0].items() if value}


server_steps = st.lists(
    st.one_of(
        st.tuples(st.just("arrive"), st.sampled_from([0, 1, 2])),
        st.tuples(st.just("leave"), st.integers(0, 7)),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=150)
@given(steps=server_steps, busy=st.integers(0, WORKERS << 16), originals=st.integers(0, 1 << 16))
def test_server(steps: list[tuple[str, int]], busy: int, originals: int) -> None:
    book = Book()
    scenario = book.server("reserve", "differential", workers=WORKERS)
    scenario.config["reserve"] = True
    oracle, native = both(scenario)
    assert native.node is not None
    averages = native.node.table("nc_reserve", tables.Reserve)
    averages[0] = tables.Reserve(busy, originals)
    oracle.node.averages.busy, oracle.node.averages.originals = busy, originals
    sent: list[Frame] = []
    number = 0
    for kind, value in steps:
        if kind == "arrive":
            number += 1
            arriving = request(req_id=number, clo=value, sid=2).to(server(2))
            seen = feed((oracle, native), WIRE, arriving)
            if seen.frames:
                sent.append(arriving)
        elif sent:
            left = sent.pop(value % len(sent))
            answer = response(2, req_id=left.header.req_id, clo=left.header.clo)
            feed((oracle, native), 0, answer)
        assert (averages[0].busy, averages[0].originals) == (
            oracle.node.averages.busy,
            oracle.node.averages.originals,
        )


def test_an_original_is_never_refused_and_clones_leave_the_reserve() -> None:
    """Originals keep all workers busy: of 32 workers 8 are kept from clones."""
    workers = 32
    book = Book()
    scenario = book.server("reserve", "full", workers=workers)
    scenario.config["reserve"] = True
    targets = both(scenario)
    assert targets[1].node is not None
    targets[1].node.table("nc_reserve", tables.Reserve)[0] = tables.Reserve(workers << 16, 1 << 16)
    targets[0].node.averages.busy, targets[0].node.averages.originals = workers << 16, 1 << 16
    admitted = 0
    for number in range(1, workers + 1):
        seen = feed(targets, WIRE, request(req_id=number, clo=2, sid=2).to(server(2)))
        admitted += bool(seen.frames)
    # 3/4 x (32 - 21) = 8.25, and the averages fall a little with each clone admitted.
    assert 23 <= admitted <= 26
    for number in range(100, 200):
        assert feed(targets, WIRE, request(req_id=number).to(server(2))).frames
