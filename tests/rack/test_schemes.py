# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every scheme on real packets in one rack."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loadgen.rack.run import run_rack
from loadgen.rack.run_options import parse_run_options
from loadgen.workload.records import RunRecord
from loadgen.workload.schemes import SCHEMES
from netclone_host.attach import tables
from netclone_host.attach.table_access import pinned_config
from netclone_host.errors import UserError
from netclone_host.rack import build, programs
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.rack.programs import Options

from .conftest import random_rack_name

ASKED = {
    "schemes": ",".join(SCHEMES),
    "service": "exp:25us",
    "jitter": "none",
    "loads": "0.4",
    "duration": "800ms",
    "warmup": "0.2s",
    "time_scale": 400.0,
    "seed": 1,
    "repeats": 1,
}


@pytest.fixture(scope="module")
def rack() -> Iterator[Plan]:
    """Three servers of four workers and two clients, with programs."""
    plan = make_plan(random_rack_name(), default_topology(3, 2, 4))
    build.up(plan, Options(), lambda _: None)
    yield plan
    build.down(plan.name)


def switch_flags(plan: Plan) -> int:
    attachment = programs.require_attached(plan)["sw"]
    return pinned_config(attachment, tables.SwitchConfig).flags


@pytest.fixture(scope="module")
def records(rack: Plan) -> dict[str, RunRecord]:
    """One run of each scheme."""
    before = switch_flags(rack)
    found = run_rack(rack.name, None, Options(), parse_run_options(**ASKED), None)
    assert switch_flags(rack) == before
    return {record.scheme: record for record in found}


def test_every_scheme_answers_everything(records: dict[str, RunRecord]) -> None:
    assert list(records) == list(SCHEMES)
    for record in records.values():
        assert record.sent > 100
        assert record.answered == record.sent
        assert record.stale == record.send_errors == 0
        assert record.redundant == (record.sent if record.scheme == "c-clone" else 0)


def test_who_clones(records: dict[str, RunRecord]) -> None:
    for name in ("baseline", "c-clone", "racksched"):
        assert records[name].cloned == 0
    for name in ("laedge", "netclone", "netclone+racksched", "netclone+reserve"):
        assert 0 < records[name].cloned <= records[name].sent
    # The coordinator never lets a clone wait; it gets the redundant responses instead.
    laedge = records["laedge"]
    assert laedge.counters["coordinator.first_responses"] >= laedge.sent
    assert laedge.filtered == pytest.approx(laedge.cloned, abs=20)
    assert laedge.counters.get("sw.ingress.cloned", 0) == 0
    assert records["racksched"].counters["sw.ingress.not_cloned"] >= records["racksched"].sent


def test_laedge_needs_a_second_client(rack_name: str) -> None:
    asked = parse_run_options(**(ASKED | {"schemes": "laedge"}))
    with pytest.raises(UserError, match="laedge needs a node"):
        run_rack(rack_name, default_topology(2, 1, 4), Options(), asked, None)


def test_reserve_needs_programs_that_count(rack_name: str) -> None:
    asked = parse_run_options(**(ASKED | {"schemes": "netclone+reserve"}))
    options = Options(state=tables.StateSource.APP)
    with pytest.raises(UserError, match="count requests in flight"):
        run_rack(rack_name, default_topology(2, 1, 2), options, asked, None)


def test_servers_that_tell_their_queue_themselves(rack_name: str) -> None:
    """--state app: switch and servers act on what the application says."""
    asked = parse_run_options(**(ASKED | {"schemes": "netclone", "loads": "0.9", "duration": "1s"}))
    options = Options(state=tables.StateSource.APP)
    (record,) = run_rack(rack_name, default_topology(2, 2, 2), options, asked, None)
    assert record.answered == record.sent
    assert record.cloned < 0.9 * record.sent
    assert record.counters["sw.ingress.not_cloned"] > 0
    # Nobody counts requests in flight: a clone is dropped because the application said so.
    assert record.clones_dropped > 0
