# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""VLAN tags: by frames written out (any kernel), and by VLAN interfaces (a kernel with 8021q)."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
from pyroute2.netlink.exceptions import NetlinkError
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from netclone_host.attach.attach import Mode
from netclone_host.rack import build, links
from netclone_host.rack.counters import Counting, difference
from netclone_host.rack.plan import NODE_LINK, Node, Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import DEFAULT_PORT, Clo, Header, Type

from .asking import CHECKSUM_OFFLOAD, address_of, ask, first_responses, servers_of
from .conftest import random_rack_name
from .echo import echo_servers
from .probe import open_socket, ping, tcp_transfer, udp_socket

VLAN_ID = 7
CLIENT_PORT = 40000
_ETH_P_ALL = 3


@pytest.fixture(scope="module")
def live_rack() -> Iterator[Plan]:
    plan = make_plan(random_rack_name(), default_topology(2, 1, 2))
    build.up(plan, Options(mode=Mode.NATIVE))
    yield plan
    build.down(plan.name)


def frame_socket(node: Node) -> socket.socket:
    """Sends and receives whole frames of a node."""
    opened = open_socket(node.netns, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    opened.bind((NODE_LINK, _ETH_P_ALL))
    return opened


def tagged(source: Node, target: Node, version: int, tags: int, ports: tuple[int, int]) -> Packet:
    """The headers of a frame between two nodes, with `tags` VLAN tags."""
    frame = Ether(src=source.mac, dst=target.mac)
    for n in range(tags):
        frame /= Dot1Q(vlan=VLAN_ID + n)
    addresses = {
        "src": str(address_of(source, version)),
        "dst": str(address_of(target, version)),
    }
    frame /= IP(**addresses) if version == 4 else IPv6(**addresses)
    return frame / UDP(sport=ports[0], dport=ports[1])


def next_netclone(receiver: socket.socket) -> bytes | None:
    """Payload of the next UDP packet of a NetClone port, checksum verified; None if none comes.

    The kernel takes the outer tag off what a frame socket is given.
    """
    while True:
        try:
            data, where = receiver.recvfrom(4096)
        except TimeoutError:
            return None
        frame = Ether(data)
        if where[2] == socket.PACKET_OUTGOING or UDP not in frame:
            continue
        if DEFAULT_PORT not in (frame[UDP].sport, frame[UDP].dport):
            continue
        checksum = frame[UDP].chksum
        del frame[UDP].chksum
        assert Ether(bytes(frame))[UDP].chksum == checksum
        return bytes(frame[UDP].payload)


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("tags", [1, 2])
def test_tagged_frames_are_cloned_and_answered_once(
    live_rack: Plan, version: int, tags: int
) -> None:
    c1 = live_rack.clients[0]
    client = frame_socket(c1)
    servers = [frame_socket(node) for node in live_rack.servers]
    request = tagged(c1, live_rack.servers[0], version, tags, (CLIENT_PORT, DEFAULT_PORT))
    try:
        client.send(bytes(request / Raw(bytes(28) + b"tagged")))
        copies = [next_netclone(server) for server in servers]
        assert all(copy is not None and copy[28:] == b"tagged" for copy in copies)
        clos = {Header.decode(copy).clo for copy in copies if copy}
        assert clos == {Clo.ORIGINAL, Clo.CLONE}
        for node, server, copy in zip(live_rack.servers, servers, copies, strict=True):
            answer = Header.decode(copy or b"").replace(type=Type.RESP).encode() + b"tagged"
            response = tagged(node, c1, version, tags, (DEFAULT_PORT, CLIENT_PORT))
            server.send(bytes(response / Raw(answer)))
        first = next_netclone(client)
        assert first is not None
        assert first[28:] == b"tagged"
        client.settimeout(0.2)
        assert next_netclone(client) is None, "the slower response is filtered"
    finally:
        for opened in (client, *servers):
            opened.close()


@pytest.fixture(scope="module")
def vlan_rack(live_rack: Plan) -> Plan:
    """The same rack, its hosts moved to VLAN 7: their addresses are those of `eth0.7`."""
    try:
        for node in live_rack.nodes:
            links.move_to_vlan(live_rack, node, VLAN_ID)
    except NetlinkError as error:
        pytest.skip(f"kernel without VLAN interfaces (8021q): {error}")
    return live_rack


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("offload", [True, False])
def test_requests_in_a_vlan_are_cloned_and_answered_once(
    vlan_rack: Plan, version: int, offload: bool
) -> None:
    c1 = vlan_rack.clients[0]
    counting = Counting(vlan_rack)
    for node in vlan_rack.nodes:
        for link in (NODE_LINK, f"{NODE_LINK}.{VLAN_ID}"):
            links.set_features(node.netns, link, {CHECKSUM_OFFLOAD: offload})
    before = counting.snapshot()
    with (
        echo_servers(servers_of(vlan_rack, version)),
        udp_socket(c1.netns, address_of(c1, version)) as client,
    ):
        for _ in range(4):
            answers = ask(client, address_of(vlan_rack.servers[0], version), bytes(28) + b"tagged")
            assert [data[28:] for data, _ in answers] == [b"tagged"]
            assert Header.decode(answers[0][0]).clo in (Clo.ORIGINAL, Clo.CLONE)
    counted = difference(counting.snapshot(), before)
    assert counted["c1.egress.request_stamped"] == 4
    assert counted["sw.ingress.cloned"] == 4
    assert first_responses(counted) == 4
    assert counted["sw.ingress.filtered_slower_response"] == 4


def test_ping_and_tcp_in_a_vlan(vlan_rack: Plan) -> None:
    c1, s1 = vlan_rack.clients[0], vlan_rack.servers[0]
    data = os.urandom(100_000)
    for version in (4, 6):
        assert ping(c1.netns, address_of(s1, version))
        assert tcp_transfer(s1.netns, c1.netns, address_of(s1, version), data) == data
