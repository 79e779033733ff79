# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The TNA program, interpreted, in a switch of several pipelines: what the client's pipeline knows,
the server's does not. Entries are those of `switch apply`."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from netclone_host.control.p4.plan import TOFINO, p4_plan
from netclone_host.wire import DEFAULT_PORT, HEADER_LEN, Clo, Header, Type
from tests.p4.racks import rack
from tests.p4.report_module import report
from tests.p4.scenario_plan import REASONS
from tests.p4.tna_interpreter.pipeline import PIPE_SHIFT, RECIRCULATION_PORT, Pipeline
from tests.p4.tna_interpreter.target import write

TOPOLOGY = rack(2)
CLIENT, SERVERS = TOPOLOGY.clients[0], TOPOLOGY.servers
CLIENT_PIPE = int(CLIENT.port) >> PIPE_SHIFT
UNKNOWN_MAC = "02:00:00:0f:0f:0f"


@pytest.fixture(scope="module")
def loaded(tofino_build: Path) -> Pipeline:
    return Pipeline(report.front_end_dump(tofino_build))


@pytest.fixture
def switch(loaded: Pipeline) -> Pipeline:
    loaded.reset()
    write(loaded, p4_plan(TOPOLOGY, TOFINO))
    return loaded


def request() -> bytes:
    packet = Ether(src=CLIENT.mac, dst=SERVERS[0].mac) / IP(
        src=str(CLIENT.ip4), dst=str(SERVERS[0].ip4)
    )
    return bytes(packet / UDP(sport=4000, dport=DEFAULT_PORT) / Header(grp=1).encode())


def answer(sid: int, to_request: bytes, queue: int) -> bytes:
    asked = Header.decode(to_request[-HEADER_LEN:])
    header = Header(type=Type.RESP, req_id=asked.req_id, grp=1, sid=sid, state=queue, clo=asked.clo)
    packet = Ether(src=SERVERS[sid].mac, dst=CLIENT.mac) / IP(
        src=str(SERVERS[sid].ip4), dst=str(CLIENT.ip4)
    )
    return bytes(packet / UDP(sport=DEFAULT_PORT, dport=4000) / header.encode())


def test_rack_is_one_of_two_pipelines() -> None:
    assert CLIENT_PIPE != 0 and all(int(server.port) >> PIPE_SHIFT == 0 for server in SERVERS)


def test_response_is_handled_in_the_pipeline_of_its_client(switch: Pipeline) -> None:
    original, copy = sorted(switch.feed(int(CLIENT.port), request()))
    assert [port for port, _ in (original, copy)] == [server.port for server in SERVERS]
    assert switch.entered == [CLIENT.port, RECIRCULATION_PORT]
    assert [Header.decode(f[-HEADER_LEN:]).clo for _, f in (original, copy)] == [
        Clo.ORIGINAL,
        Clo.CLONE,
    ]
    sequence = switch.registers["SwitchIngress.sequence.sequence"]
    assert sequence.cells_of(CLIENT_PIPE) == {0: 1} and not sequence.cells_of(0)

    first = answer(0, original[1], queue=3)
    assert switch.feed(int(SERVERS[0].port), first) == [(CLIENT.port, first)]
    assert switch.entered == [SERVERS[0].port, CLIENT_PIPE << PIPE_SHIFT | RECIRCULATION_PORT]
    state = switch.registers["SwitchIngress.states.state"]
    assert state.cells_of(CLIENT_PIPE)[0] == 3 and 0 not in state.cells_of(0)

    assert switch.feed(int(SERVERS[1].port), answer(1, copy[1], queue=0)) == []
    assert switch.counter.packets == {
        REASONS[name]: 1
        for name in ("cloned", "clone_sent", "response_first", "filtered_slower_response")
    }


def test_flooded_frame_does_not_go_back(switch: Pipeline) -> None:
    frame = bytes(Ether(src=CLIENT.mac, dst=UNKNOWN_MAC, type=0x88B5) / bytes(46))
    flooded = switch.feed(int(CLIENT.port), frame)
    assert flooded == [(server.port, frame) for server in SERVERS]


def test_arp_is_flooded_and_its_answer_is_not(switch: Pipeline) -> None:
    asked = bytes(Ether(src=CLIENT.mac, dst="ff:ff:ff:ff:ff:ff", type=0x0806) / bytes(46))
    assert [port for port, _ in switch.feed(int(CLIENT.port), asked)] == [s.port for s in SERVERS]
    answered = bytes(Ether(src=SERVERS[1].mac, dst=CLIENT.mac, type=0x0806) / bytes(46))
    assert switch.feed(int(SERVERS[1].port), answered) == [(CLIENT.port, answered)]


def test_failed_server_gets_nothing_more(switch: Pipeline) -> None:
    """Its copy alone is lost."""
    switch.tables["SwitchIngress.address.addresses_v4"].written.pop((1,))
    ((port, _),) = switch.feed(int(CLIENT.port), request())
    assert port == SERVERS[0].port
    assert switch.counter.packets == {REASONS["cloned"]: 1, REASONS["clone_lost"]: 1}
