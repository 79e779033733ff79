# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ordinary programs by plain sockets in a rack whose programs are attached."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from itertools import product

import pytest

from netclone_host.attach.attach import Mode
from netclone_host.rack import build, links
from netclone_host.rack.counters import Counting, difference
from netclone_host.rack.plan import NODE_LINK, Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import DEFAULT_PORT, Clo, Flag, Header, Type

from .asking import CHECKSUM_OFFLOAD, address_of, ask, first_responses, servers_of
from .conftest import random_rack_name
from .echo import echo_servers
from .probe import ping, tcp_transfer, udp_socket


@pytest.fixture(scope="module", params=[Mode.NATIVE, Mode.GENERIC])
def live_rack(request: pytest.FixtureRequest) -> Iterator[Plan]:
    """Two servers of two workers and two clients, with programs."""
    plan = make_plan(random_rack_name(), default_topology(2, 2, 2))
    build.up(plan, Options(mode=request.param))
    yield plan
    build.down(plan.name)


@pytest.mark.parametrize("version", [4, 6])
def test_28_blank_bytes_to_any_server_are_a_request(live_rack: Plan, version: int) -> None:
    c1 = live_rack.clients[0]
    servers = {
        str(address): node
        for node, (_, address) in zip(
            live_rack.servers, servers_of(live_rack, version), strict=True
        )
    }
    ids = set()
    seen = set()
    with (
        echo_servers(servers_of(live_rack, version)),
        udp_socket(c1.netns, address_of(c1, version)) as client,
    ):
        for n, length in enumerate((0, 1, 2, 3, 100, 1400) * 2):
            server = address_of(live_rack.servers[n % 2], version)
            body = os.urandom(length)
            answers = ask(client, server, bytes(28) + body)
            assert len(answers) == 1, "one answer: the slower one is filtered"
            data, source = answers[0]
            header = Header.decode(data)
            assert data[28:] == body
            assert header.type == Type.RESP
            assert header.clo in (Clo.ORIGINAL, Clo.CLONE)
            assert servers[source].server_id == header.sid
            assert 1 <= header.grp <= 2
            assert header.idx < 2
            assert (header.state, header.switch_id, header.flags) == (0, 0, 0)
            ids.add(header.req_id)
            seen.add(header.clo)
    assert len(ids) == 12
    assert 0 not in ids


@pytest.mark.parametrize("version", [4, 6])
def test_checksums_are_right_with_offload_on_and_off(live_rack: Plan, version: int) -> None:
    c1 = live_rack.clients[0]
    for at_client, at_server in product((True, False), repeat=2):
        links.set_features(c1.netns, NODE_LINK, {CHECKSUM_OFFLOAD: at_client})
        for node in live_rack.servers:
            links.set_features(node.netns, NODE_LINK, {CHECKSUM_OFFLOAD: at_server})
        with (
            echo_servers(servers_of(live_rack, version)),
            udp_socket(c1.netns, address_of(c1, version)) as client,
        ):
            for length in (28, 1001, 1452):
                request = bytes(28) + os.urandom(length - 28)
                answers = ask(client, address_of(live_rack.servers[0], version), request)
                assert [data[28:] for data, _ in answers] == [request[28:]]


def test_a_write_is_not_cloned_and_goes_where_it_was_sent(live_rack: Plan) -> None:
    c2 = live_rack.clients[1]
    request = Header(flags=Flag.NO_CLONE).encode()
    with echo_servers(servers_of(live_rack, 4)), udp_socket(c2.netns, address_of(c2, 4)) as client:
        for node in live_rack.servers * 3:
            ((data, source),) = ask(client, address_of(node, 4), request)
            assert source == str(node.ip4)
            assert Header.decode(data).clo == Clo.NONE
            assert Header.decode(data).sid == node.server_id


def test_counters_tell_every_packet(live_rack: Plan) -> None:
    n = 10
    c1 = live_rack.clients[0]
    counting = Counting(live_rack)
    with echo_servers(servers_of(live_rack, 4)), udp_socket(c1.netns, address_of(c1, 4)) as client:
        before = counting.snapshot()
        for _ in range(n):
            assert len(ask(client, address_of(live_rack.servers[1], 4), bytes(28))) == 1
        counted = difference(counting.snapshot(), before)
    assert counted["c1.egress.request_stamped"] == n
    assert counted["c1.ingress.response_delivered"] == n
    # Both servers are idle at every request.
    assert counted["sw.ingress.cloned"] == counted["sw.clone.clone_sent"] == n
    assert first_responses(counted) == n
    assert counted["sw.ingress.filtered_slower_response"] == n
    assert counting.total(counted, "server", "ingress", "request_admitted") == n
    assert counting.total(counted, "server", "ingress", "clone_admitted") == n
    assert counting.total(counted, "server", "egress", "response_stamped") == 2 * n


def test_a_server_that_never_answers_loses_nothing_of_a_cloned_request(live_rack: Plan) -> None:
    c1 = live_rack.clients[0]
    with (
        echo_servers(servers_of(live_rack, 4)[:1]),
        udp_socket(c1.netns, address_of(c1, 4)) as client,
    ):
        answered = [
            len(ask(client, address_of(live_rack.servers[0], 4), bytes(28))) for _ in range(6)
        ]
    assert answered == [1] * 6


def test_ordinary_traffic_is_left_to_linux(live_rack: Plan) -> None:
    c1, s1, s2 = live_rack.clients[0], *live_rack.servers
    data = os.urandom(200_000)
    for version in (4, 6):
        # Between servers there are no permanent neighbours: ARP and ND pass as well.
        assert ping(s1.netns, address_of(s2, version))
        assert ping(c1.netns, address_of(s1, version))
        assert tcp_transfer(s1.netns, c1.netns, address_of(s1, version), data) == data
        with (
            udp_socket(s2.netns, address_of(s2, version), 5000) as server,
            udp_socket(c1.netns, address_of(c1, version)) as client,
        ):
            client.sendto(b"not NetClone", server.getsockname())
            assert server.recv(2048) == b"not NetClone"


@pytest.mark.parametrize("length", [0, 1, 27])
def test_payloads_too_short_for_the_header_arrive_untouched(live_rack: Plan, length: int) -> None:
    c1, s1 = live_rack.clients[0], live_rack.servers[0]
    payload = os.urandom(length)
    with (
        udp_socket(s1.netns, address_of(s1, 4), DEFAULT_PORT) as server,
        udp_socket(c1.netns, address_of(c1, 4)) as client,
    ):
        client.sendto(payload, server.getsockname())
        assert server.recv(2048) == payload


def test_packets_of_the_published_prototype(live_rack: Plan) -> None:
    """Seven 32-bit words: op, seq, grp, sid, load, clo, tidx; then what its programs add. Its
    client picks group and table itself, and uses the id as an index below 10^8."""
    prototype = struct.Struct("!7I Q 16s")
    c1 = live_rack.clients[0]
    with (
        echo_servers(servers_of(live_rack, 4)),
        udp_socket(c1.netns, address_of(c1, 4)) as client,
    ):
        for group, table in product((1, 2), (0, 1)):
            stamp = time.time_ns()
            request = prototype.pack(0, 0, group, 1, 0, 0, table, stamp, bytes(16))
            ((data, source),) = ask(client, address_of(live_rack.servers[0], 4), request)
            op, seq, grp, sid, _, clo, tidx, latency, _ = prototype.unpack(data)
            assert (op, grp, tidx, latency) == (1, group, table, stamp)
            assert 0 < seq < 100_000_000
            assert clo <= 2
            assert source == str(live_rack.servers[sid].ip4)
