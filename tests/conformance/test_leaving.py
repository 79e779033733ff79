# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The devmap program, on the library: which frame of a cloned request is the copy, also when
the tables change between the switch's decision and the frames' leaving."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from netclone_host.attach import tables
from tests.conformance.frames import Frame, request, response, server
from tests.conformance.runners.native import Native, Node
from tests.conformance.writing import Book

S0, S1, S2 = server(0), server(1), server(2)
ORIGINAL = request().to(S0, req_id=1, clo=1, sid=1)
COPY = ORIGINAL.to(S1, clo=2)


class Leaving:
    def __init__(self) -> None:
        self.native = Native()
        self.native.start(Book().switch("leaving", "three servers"))
        assert self.native.node
        self.node: Node = self.native.node
        self.before = self.native.counts()

    def frame(self, port: int, frame: Frame) -> bytes | None:
        return self.node.leave(port, frame.bytes())

    def counted(self) -> dict[str, int]:
        now = self.native.counts()
        return {name: n - self.before[name] for name, n in now.items() if n != self.before[name]}

    def servers(self) -> tables.Server:
        return self.node.table("nc_servers", tables.Server)  # type: ignore[return-value]


@pytest.fixture
def leaving() -> Iterator[Leaving]:
    one = Leaving()
    yield one
    one.node.close()


def test_each_by_its_port(leaving: Leaving) -> None:
    assert leaving.frame(S0.port, ORIGINAL) == ORIGINAL.bytes()
    assert leaving.frame(S1.port, ORIGINAL) == COPY.bytes()
    assert leaving.counted() == {"clone.clone_sent": 1}


@pytest.mark.parametrize(
    "frame",
    [
        request().to(S0, req_id=1),
        COPY,
        response(1, to=S0, req_id=1, clo=1),
        request(dport=999).to(S0, clo=1, sid=1),
    ],
    ids=["not-cloned", "clone", "response", "not-netclone"],
)
def test_all_else_as_it_is(leaving: Leaving, frame: Frame) -> None:
    for port in (S0.port, S1.port, S2.port):
        assert leaving.frame(port, frame) == frame.bytes()
    assert leaving.counted() == {}


def test_by_a_third_port_as_it_is(leaving: Leaving) -> None:
    """The groups' devmaps do not lead there; whoever does sends an original."""
    assert leaving.frame(S2.port, ORIGINAL) == ORIGINAL.bytes()


def test_one_port_in_turn(leaving: Leaving) -> None:
    for sid in range(3):
        leaving.servers()[sid].ifindex = 5  # type: ignore[index]
    other = ORIGINAL.but(req_id=2)
    assert leaving.frame(5, ORIGINAL) == ORIGINAL.bytes()
    assert leaving.frame(5, ORIGINAL) == COPY.bytes()
    assert leaving.frame(5, other) == other.bytes()
    assert leaving.frame(5, other) == COPY.but(req_id=2).bytes()
    assert leaving.frame(5, ORIGINAL) == ORIGINAL.bytes()
    assert leaving.counted() == {"clone.clone_sent": 2}


def test_groups_renumbered_meanwhile(leaving: Leaving) -> None:
    """GRP says another pair by now. Ports may be shared for all that is known: in turn."""
    leaving.node.table("nc_groups", tables.Group)[1] = tables.Group(0, 2)
    assert leaving.frame(S0.port, ORIGINAL) == ORIGINAL.bytes()
    assert leaving.frame(S1.port, ORIGINAL) == ORIGINAL.bytes()
    assert leaving.frame(S1.port, ORIGINAL) == COPY.bytes()


@pytest.mark.parametrize("v6", [False, True])
def test_second_server_removed_meanwhile(leaving: Leaving, v6: bool) -> None:
    """The copy alone is dropped, and counted."""
    leaving.servers()[1] = tables.Server()  # type: ignore[index]
    original = ORIGINAL.but(v6=v6)
    assert leaving.frame(S0.port, original) == original.bytes()
    assert leaving.frame(S1.port, original) is None
    assert leaving.counted() == {"clone.clone_lost": 1}


def test_second_server_removed_original_never_lost(leaving: Leaving) -> None:
    """Where the destination's port is not known, nothing is taken for a copy."""
    leaving.servers()[1] = tables.Server()  # type: ignore[index]
    tagged = ORIGINAL.but(vlans=((0x8100, 5),))
    for port in (S0.port, S1.port):
        assert leaving.frame(port, tagged) == tagged.bytes()
    assert leaving.counted() == {}


def test_second_server_without_that_address(leaving: Leaving) -> None:
    leaving.servers()[1].ip4 = (0, 0, 0, 0)  # type: ignore[index]
    assert leaving.frame(S1.port, ORIGINAL) is None
    assert leaving.counted() == {"clone.clone_lost": 1}
