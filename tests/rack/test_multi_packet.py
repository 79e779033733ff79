# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Messages of several packets end to end, between programs that choose their ids (section 3.7):
all copies of a request or none, each packet of a response once, also when it is asked again."""

from __future__ import annotations

import select
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from netclone_host.attach.attach import Mode
from netclone_host.rack import build
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import DEFAULT_PORT, HEADER_LEN, Clo, Flag, Header, Type

from .asking import address_of
from .conftest import random_rack_name
from .probe import udp_socket

QUIET_S = 0.12
REQUEST_PACKETS = 3
RESPONSE_PACKETS = 5  # of two filter tables
WORKERS = 30  # more than the copies that a test leaves in flight, unfinished


@dataclass
class Server:
    """Puts requests together, and answers whole ones in five packets."""

    socket: socket.socket
    answers: bool = True
    whole: Counter[int] = field(default_factory=Counter)
    """Requests that were complete here: by CLO."""
    _parts: dict[tuple[str, int, int], set[int]] = field(default_factory=dict)

    def receive(self) -> None:
        data, client = self.socket.recvfrom(2048)
        header = Header.decode(data)
        parts = self._parts.setdefault((client[0], header.client_id, header.req_id), set())
        parts.add(header.pkt_index)
        if len(parts) < header.pkt_count:
            return
        parts.clear()
        self.whole[header.clo] += 1
        for index in range(RESPONSE_PACKETS) if self.answers else ():
            answer = header.replace(type=Type.RESP, pkt_index=index, pkt_count=RESPONSE_PACKETS)
            self.socket.sendto(answer.encode() + bytes([index]) * 100, client)


@pytest.fixture(scope="module", params=[Mode.NATIVE, Mode.GENERIC])
def plan(request: pytest.FixtureRequest) -> Iterator[Plan]:
    plan = make_plan(random_rack_name(), default_topology(2, 1, WORKERS))
    build.up(plan, Options(mode=request.param))
    yield plan
    build.down(plan.name)


@pytest.fixture(params=[4, 6])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def servers(plan: Plan, version: int) -> Iterator[list[Server]]:
    servers = [
        Server(udp_socket(node.netns, address_of(node, version), DEFAULT_PORT))
        for node in plan.servers
    ]
    by_socket = {server.socket: server for server in servers}
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            for ready in select.select(list(by_socket), [], [], 0.05)[0]:
                by_socket[ready].receive()

    thread = threading.Thread(target=serve)
    thread.start()
    yield servers
    stop.set()
    thread.join()
    for server in servers:
        server.socket.close()


class Client:
    def __init__(self, plan: Plan, version: int) -> None:
        node = plan.clients[0]
        self.socket = udp_socket(node.netns, address_of(node, version))
        self._to = (str(address_of(plan.servers[0], version)), DEFAULT_PORT)

    def send(self, req_id: int, order: tuple[int, ...] = (0, 1, 2)) -> None:
        for index in order:
            header = Header(
                flags=Flag.CLIENT_ID_VALID,
                client_id=5,
                req_id=req_id,
                pkt_index=index,
                pkt_count=REQUEST_PACKETS,
            )
            self.socket.sendto(header.encode() + b"part", self._to)

    def answers(self) -> tuple[Counter[int], set[int]]:
        """PKT_INDEX of all that comes, how often; and the values of CLO."""
        indices: Counter[int] = Counter()
        clos = set()
        self.socket.settimeout(5)
        try:
            while True:
                data = self.socket.recv(2048)
                header = Header.decode(data)
                assert data[HEADER_LEN:] == bytes([header.pkt_index]) * 100
                indices[header.pkt_index] += 1
                clos.add(header.clo)
                self.socket.settimeout(QUIET_S)
        except TimeoutError:
            return indices, clos


@pytest.fixture
def client(plan: Plan, version: int) -> Iterator[Client]:
    client = Client(plan, version)
    yield client
    client.socket.close()


ONCE = Counter(range(RESPONSE_PACKETS))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_each_packet_of_the_response_once(
    client: Client, servers: list[Server], order: tuple[int, ...]
) -> None:
    """A copy whose later packets come first is dropped in part, and never finished; the
    original is whole."""
    for req_id in range(4):
        client.send(100 * order[0] + req_id, order)
        indices, clos = client.answers()
        assert indices == ONCE
        assert clos <= {Clo.ORIGINAL, Clo.CLONE}
    whole = servers[0].whole + servers[1].whole
    assert whole[Clo.ORIGINAL] == 4 and whole[Clo.NONE] == 0
    assert whole[Clo.CLONE] == (4 if order[0] == 0 else 0)


def test_asked_again_it_is_answered_again(client: Client, servers: list[Server]) -> None:
    """By both servers, by one of them, by the other one: no fingerprint of an earlier attempt
    stops an answer, and none comes twice."""
    for req_id in range(500, 502):
        for answering in ((0, 1), (0,), (1,), (1,), (0,), (0, 1)):
            for number, server in enumerate(servers):
                server.answers = number in answering
            client.send(req_id)
            indices, _ = client.answers()
            assert indices == ONCE, (req_id, answering)
