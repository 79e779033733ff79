# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A tagged request keeps its tag through a switch of veths, whatever their offloads were, and those
are what they were after detach."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from netclone_host.attach.attach import AttachRequest, Mode, attach
from netclone_host.attach.detach import detach
from netclone_host.attach.roles import Role
from netclone_host.kernel import interfaces, offloads, tcx, tiny_programs
from netclone_host.kernel.offloads import TagOffloads
from netclone_host.kernel.tiny_programs import ProgramType
from netclone_host.topology import loads
from netclone_host.wire import Header

from .commands import done
from .conftest import TOPOLOGY, run
from .frames import frame

VLAN_ID = 7
BODY = b"tagged"
OFFLOADS = ["tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"]
_SOL_PACKET, _PACKET_AUXDATA = 263, 8  # struct tpacket_auxdata beside each frame
_VLAN_VALID = 1 << 4  # TP_STATUS_VLAN_VALID


@pytest.fixture
def tagging(switch_ports: list[str]) -> Iterator[None]:
    """What is sent into port p2 has a tag of VLAN 7, where a VLAN interface would put it."""
    code = tiny_programs.pushing_vlan(VLAN_ID)
    program = tiny_programs.load(ProgramType.SCHED_CLS, "push_vlan", code)
    link = tcx.attach_first(program, socket.if_nametoindex("p2-wire"))
    yield
    os.close(link)
    os.close(program)


def tags_of_a_request() -> list[int | None]:
    """VLAN ids that the request arrives with at the servers."""
    with ExitStack() as opened:
        servers = []
        for end in ("p0-wire", "p1-wire"):
            server = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            servers.append(opened.enter_context(closing(server)))
            server.bind((end, 3))
            server.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            server.settimeout(10)
        client = opened.enter_context(closing(socket.socket(socket.AF_PACKET, socket.SOCK_RAW)))
        client.bind(("p2-wire", 0))
        client.send(frame(Header(grp=1), body=BODY))
        return [next_tag(server) for server in servers]


def next_tag(server: socket.socket) -> int | None:
    while True:
        data, beside, _, where = server.recvmsg(4096, 256)
        if where[2] == socket.PACKET_OUTGOING or not data.endswith(BODY):
            continue
        status, *_, tci, _ = struct.unpack("IIIHHHH", beside[0][2])
        return tci if status & _VLAN_VALID else None


def taken_at(port: str) -> TagOffloads | None:
    return offloads.of_tags(interfaces.find([port])[0])


def test_without_attach_the_kernel_takes_the_tag_off(switch_ports: list[str]) -> None:
    assert taken_at("p2") == TagOffloads(OFFLOADS, [])


@pytest.mark.parametrize("mode", [Mode.NATIVE, Mode.GENERIC])
def test_a_tagged_request_keeps_its_tag(switch_ports: list[str], tagging: None, mode: Mode) -> None:
    attach(AttachRequest(tuple(switch_ports), Role.SWITCH, topology=loads(TOPOLOGY), mode=mode))
    wanted = [] if mode is Mode.NATIVE else OFFLOADS
    assert taken_at("p2") == TagOffloads(wanted, [])
    assert tags_of_a_request() == [VLAN_ID, VLAN_ID]
    detach("p0")
    assert taken_at("p2") == TagOffloads(OFFLOADS, [])


def test_what_was_off_before_stays_off(switch_ports: list[str]) -> None:
    run("ethtool", "-K", "p1-wire", "tx-vlan-hw-insert", "off")
    attach(AttachRequest(tuple(switch_ports), Role.SWITCH, topology=loads(TOPOLOGY)))
    detach("p0")
    assert taken_at("p1") == TagOffloads(OFFLOADS[1:], [])
    assert taken_at("p0") == TagOffloads(OFFLOADS, [])


def test_where_the_driver_insists_it_is_generic(
    switch_ports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = offloads.of_tags

    def insists_at_p1(port: interfaces.Interface) -> TagOffloads | None:
        return TagOffloads([], ["rx-vlan-hw-parse"]) if port.name == "p1" else real(port)

    monkeypatch.setattr(offloads, "of_tags", insists_at_p1)
    request = AttachRequest(tuple(switch_ports), Role.SWITCH, topology=loads(TOPOLOGY))
    result = attach(request)
    assert result.mode == "generic"
    assert result.attachment.reason == (
        "p1: VLAN tags would be lost, rx-vlan-hw-parse cannot be switched off"
    )
    assert taken_at("p0") == TagOffloads(OFFLOADS, [])
    detach("p0")


def test_doctor_names_the_interfaces(switch_ports: list[str]) -> None:
    (line,) = [line for line in done("doctor").stdout.splitlines() if "VLAN tags" in line]
    assert line.split()[0] == "ok" and "p0" in line
