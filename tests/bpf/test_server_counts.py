# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Switches of 2, 33 and 256 servers (65,280 groups): tables load, requests are forwarded, and a
request of any group is cloned to exactly the two servers that its number stands for."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from netclone_host.attach.attach import AttachRequest, attach
from netclone_host.attach.detach import detach
from netclone_host.attach.roles import Role
from netclone_host.topology import Topology, loads
from netclone_host.wire import Clo, Header

from .conftest import Namespace

SERVER_PORTS = ("p0", "p1", "p2", "p3")
CLIENT_PORT = "p4"
SAMPLES = 40
_HEADER_AT = 14 + 20 + 8
_ETH_P_ALL = 3


def ip_of(sid: int) -> str:
    return f"10.0.{1 + sid // 128}.{101 + sid % 128}"


def topology_of(n_servers: int) -> Topology:
    """Servers dealt over the ports in turn, with one to three workers each."""
    servers = "".join(
        f'[[server]]\nid = {sid}\nip4 = "{ip_of(sid)}"\nmac = "02:00:00:00:01:{sid:02x}"\n'
        f'port = "{SERVER_PORTS[sid % len(SERVER_PORTS)]}"\nworkers = {1 + sid % 3}\n'
        for sid in range(n_servers)
    )
    return loads(servers)


def wire_of(port: str) -> socket.socket:
    """The far end of a port."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    raw.bind((f"{port}-wire", 0))
    raw.settimeout(5)
    return raw


@contextmanager
def running_switch(namespace: Namespace, topology: Topology) -> Iterator[dict[str, socket.socket]]:
    ports = (*SERVER_PORTS, CLIENT_PORT)
    for port in ports:
        namespace.veth(port, f"{port}-wire")
    attach(AttachRequest(ports, Role.SWITCH, topology=topology))
    try:
        with ExitStack() as stack:
            yield {port: stack.enter_context(wire_of(port)) for port in ports}
    finally:
        detach(ports[0])


def request(grp: int, number: int) -> bytes:
    l2 = Ether(src="02:00:00:00:02:00", dst="02:00:00:00:01:00")
    l3 = IP(src="10.0.0.1", dst=ip_of(0)) / UDP(sport=5000, dport=1000)
    return bytes(l2 / l3 / (Header(grp=grp).encode() + number.to_bytes(4, "big")))


def netclone_frame(wire: socket.socket) -> tuple[Header, str, bytes]:
    """Header, destination address and body of the next NetClone frame."""
    while True:
        frame, address = wire.recvfrom(2048)
        if address[2] == socket.PACKET_OUTGOING or frame[12:14] != b"\x08\x00":
            continue
        payload = frame[_HEADER_AT:]
        return Header.decode(payload[:28]), socket.inet_ntoa(frame[30:34]), payload[28:32]


@pytest.mark.parametrize("n_servers", [2, 33, 256])
def test_every_sampled_group_reaches_its_pair(namespace: Namespace, n_servers: int) -> None:
    topology = topology_of(n_servers)
    groups = topology.groups()
    assert len(groups) == n_servers * (n_servers - 1)
    rng = random.Random(n_servers)
    sample = {1, len(groups), *(rng.randint(1, len(groups)) for _ in range(SAMPLES))}
    with running_switch(namespace, topology) as wires:
        for number, grp in enumerate(sorted(sample)):
            first, second = groups[grp]
            wires[CLIENT_PORT].send(request(grp, number))
            seen = {}
            for sid in (first, second):
                port = SERVER_PORTS[sid % len(SERVER_PORTS)]
                header, ip, body = netclone_frame(wires[port])
                assert body == number.to_bytes(4, "big"), f"group {grp}"
                seen[header.clo] = (ip, header.sid)
            assert seen == {
                Clo.ORIGINAL: (ip_of(first), second),
                Clo.CLONE: (ip_of(second), second),
            }, f"group {grp}"
