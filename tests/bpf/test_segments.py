# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UDP segmentation offload: one buffer, several packets, each with a header of its own."""

from __future__ import annotations

import socket
import struct

import pytest

from netclone_host.wire import Clo, Header, Type
from tests.bpf.commands import netclone_host
from tests.bpf.conftest import run

SOL_UDP, UDP_SEGMENT = 17, 103
ETH_P_IP = 0x0800
SEGMENT = 28 + 72
HERE, THERE = "10.9.0.1", "10.9.0.2"


@pytest.fixture
def wire(host: str) -> socket.socket:
    """The far end of the host's interface, seen raw; the host has an address and a neighbour."""
    run("ip", "addr", "add", f"{HERE}/24", "dev", host)
    link = run("ip", "-br", "link", "show", "dev", "wire").split()
    mac = link[2]
    run("ip", "neigh", "replace", THERE, "lladdr", mac, "dev", host, "nud", "permanent")
    far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
    far.bind(("wire", 0))
    far.settimeout(2)
    return far


def segmented(source: socket.socket, to: tuple[str, int], headers: list[Header]) -> None:
    """One system call, one buffer; the last segment is shorter."""
    payload = b"".join(header.encode() + bytes(SEGMENT - 28) for header in headers)[:-20]
    source.setsockopt(SOL_UDP, UDP_SEGMENT, SEGMENT)
    source.sendto(payload, to)


def headers_on(far: socket.socket, count: int) -> list[Header]:
    found = []
    while len(found) < count:
        frame = far.recv(65535)
        if frame[23] == 17:
            length = struct.unpack_from("!H", frame, 38)[0]
            for at in range(42, 42 + length - 8, SEGMENT):
                found.append(Header.decode(frame[at : at + 28]))
    return found


@pytest.mark.parametrize("loader", ["libbpf", "bcc"])
def test_a_client_stamps_every_segment(host: str, wire: socket.socket, loader: str) -> None:
    attached = netclone_host(
        "attach", host, "--role", "client", "--servers", "6", "--loader", loader
    )
    assert attached.exit_code == 0, attached.output
    with wire, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((HERE, 40000))
        segmented(client, (THERE, 1000), [Header(type=Type.REQ)] * 4)
        stamped = headers_on(wire, 4)
    assert all(1 <= header.grp <= 30 for header in stamped)
    counted = netclone_host("stats", host).output
    assert "request_stamped" in counted
    assert netclone_host("detach", host).exit_code == 0


@pytest.mark.parametrize("loader", ["libbpf", "bcc"])
def test_a_server_stamps_every_segment_and_nothing_stays_in_flight(
    host: str, wire: socket.socket, loader: str
) -> None:
    words = ("--role", "server", "--server-id", "3", "--workers", "1", "--loader", loader)
    attached = netclone_host("attach", host, *words)
    assert attached.exit_code == 0, attached.output
    ids = [11, 12, 13, 14]
    with wire, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((HERE, 1000))
        server.settimeout(2)
        for req_id in ids:
            wire.send(request_frame(req_id))
            server.recv(2048)
        answers = [Header(type=Type.RESP, req_id=req_id, grp=1, clo=Clo.ORIGINAL) for req_id in ids]
        segmented(server, (THERE, 40000), answers)
        stamped = headers_on(wire, 4)
    assert [header.sid for header in stamped] == [3] * 4
    assert [header.state for header in stamped] == [2, 1, 0, 0]
    assert netclone_host("detach", host).exit_code == 0


def request_frame(req_id: int) -> bytes:
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether

    here = run("ip", "-br", "link", "show", "dev", "eth0").split()[2]
    there = run("ip", "-br", "link", "show", "dev", "wire").split()[2]
    header = Header(type=Type.REQ, req_id=req_id, grp=1, clo=Clo.ORIGINAL)
    packet = IP(src=THERE, dst=HERE) / UDP(sport=40000, dport=1000) / header.encode()
    return bytes(Ether(src=there, dst=here) / packet)
