# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What must pass untouched: not a byte of it changes, and the reason is counted, at every
hook of every role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from netclone_host.attach.roles import Role
from netclone_host.counters import Hook
from netclone_host.kernel.testrun import TcAction, XdpAction
from netclone_host.wire import Clo, Flag, Header, Type

from .conftest import Namespace
from .frames import CLIENT_IP, CLIENT_IP6, SERVER_IP, SERVER_IP6, Programs, frame, programs

REQUEST = Header(grp=1)
RESPONSE = Header(type=Type.RESP, req_id=1, grp=1)
BLANK_IS_FINE_AT = (Role.CLIENT, Hook.EGRESS)
HOOKS = [
    (Role.SWITCH, Hook.INGRESS),
    (Role.SERVER, Hook.INGRESS),
    (Role.SERVER, Hook.EGRESS),
    (Role.CLIENT, Hook.INGRESS),
    (Role.CLIENT, Hook.EGRESS),
]


@dataclass(frozen=True)
class Case:
    name: str
    frame: bytes
    counter: str


def ip4(*layers: object, **fields: object) -> bytes:
    packet = Ether() / IP(src=CLIENT_IP, dst=SERVER_IP[0], **fields)
    for layer in layers:
        packet /= layer
    return bytes(packet)


def ip6(*layers: object) -> bytes:
    packet = Ether() / IPv6(src=CLIENT_IP6, dst=SERVER_IP6[0])
    for layer in layers:
        packet /= layer
    return bytes(packet)


def udp(**fields: int) -> UDP:
    return UDP(sport=5000, dport=1000, **fields)


PAYLOAD = Raw(REQUEST.encode())


def ordinary() -> Iterator[Case]:
    yield Case("ARP", bytes(Ether() / ARP() / bytes(28)), "not_netclone")
    yield Case("ping", ip4(ICMP() / bytes(40)), "not_netclone")
    yield Case("UDP to another port", ip4(UDP(sport=5000, dport=1001) / PAYLOAD), "not_netclone")
    yield Case("TCP handshake", frame(b"", tcp=True), "short_payload")
    yield Case("LLC", bytes(Ether(type=40)) + bytes(60), "not_netclone")
    yield Case("three VLAN tags", frame(REQUEST, vlans=(1, 2, 3)), "not_netclone")
    yield Case("IPv4 of version 5", ip4(udp() / PAYLOAD, version=5), "not_netclone")


def runts() -> Iterator[Case]:
    whole = frame(REQUEST)
    tagged = bytes(Ether() / Dot1Q(vlan=5) / IP()) + bytes(40)
    for length in range(14, 42):
        yield Case(f"IPv4, {length} bytes", whole[:length], "runt")
    for length in range(14, 62):
        yield Case(f"IPv6, {length} bytes", frame(REQUEST, ip6=True)[:length], "runt")
    for length in range(14, 18):
        yield Case(f"VLAN, {length} bytes", tagged[:length], "runt")
    yield Case("IHL of 4", ip4(udp() / PAYLOAD, ihl=4), "runt")


def short() -> Iterator[Case]:
    for length in range(28):
        payload = REQUEST.encode()[:length]
        yield Case(f"payload of {length} bytes", frame(payload), "short_payload")
        yield Case(f"IPv6, payload of {length}", frame(payload, ip6=True), "short_payload")


def options() -> Iterator[Case]:
    for words in range(1, 11):
        packet = bytearray(bytes(Ether() / IP(src=CLIENT_IP, dst=SERVER_IP[0]) / udp() / PAYLOAD))
        packet[14] = 0x40 | 5 + words
        packet[34:34] = b"\x01" * 4 * words
        packet[16:18] = (len(packet) - 14).to_bytes(2, "big")
        yield Case(f"{4 * words} bytes of IP options", bytes(packet), "ip_options")


def fragments() -> Iterator[Case]:
    yield Case("first fragment", ip4(udp() / PAYLOAD, flags="MF"), "fragment")
    yield Case("later fragment", ip4(udp() / PAYLOAD, flags="MF", frag=185), "fragment")
    yield Case("last fragment", ip4(udp() / PAYLOAD, frag=185), "fragment")
    yield Case("IPv6 fragment", ip6(IPv6ExtHdrFragment(m=1), udp() / PAYLOAD), "fragment")
    yield Case("IPv6 later", ip6(IPv6ExtHdrFragment(offset=9), udp() / PAYLOAD), "fragment")


def extensions() -> Iterator[Case]:
    for extension in (IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, IPv6ExtHdrDestOpt):
        name = extension.__name__
        yield Case(name, ip6(extension(), udp() / PAYLOAD), "ipv6_extension")
    for number in (50, 51, 135, 139, 140):
        data = bytearray(frame(REQUEST, ip6=True))
        data[20] = number
        yield Case(f"next header {number}", bytes(data), "ipv6_extension")


def lengths() -> Iterator[Case]:
    for length in (0, 7, 8, 35, 37, 44, 500, 65535):
        yield Case(f"UDP length {length}", frame(REQUEST, body=b"", len=length), "bad_length")
        data = frame(REQUEST, body=b"", ip6=True, len=length)
        yield Case(f"IPv6, UDP length {length}", data, "bad_length")
    for length in (0, 20, 27, 57, 65, 1500):
        yield Case(f"IP length {length}", ip4(udp() / PAYLOAD, len=length), "bad_length")


def header_values() -> Iterator[Case]:
    for kind in (2, 3, 255):
        yield Case(f"TYPE {kind}", frame(REQUEST.replace(type=kind)), "bad_type")
    yield Case("RESP to the port", frame(RESPONSE), "bad_type")
    yield Case("REQ from the port", frame(REQUEST, to_server=False), "bad_type")
    for clo in (3, 255):
        yield Case(f"CLO {clo}", frame(REQUEST.replace(clo=clo)), "bad_clo")
    for sid in (256, 0xFFFFFFFF):
        yield Case(f"SID {sid}", frame(REQUEST.replace(sid=sid)), "bad_sid")
    for idx in (2, 255):
        yield Case(f"IDX {idx}", frame(REQUEST.replace(idx=idx)), "bad_idx")
    for grp in (65281, 0xFFFFFFFF):
        yield Case(f"GRP {grp}", frame(REQUEST.replace(grp=grp)), "bad_group")
    yield Case("response, GRP 0", frame(RESPONSE.replace(grp=0), to_server=False), "bad_group")
    yield Case("TCP without CLIENT_ID", frame(REQUEST, tcp=True), "tcp_without_client_id")


CASES = [
    case
    for cases in (
        ordinary, runts, short, options, fragments, extensions, lengths, header_values
    )
    for case in cases()
]  # fmt: skip


@pytest.fixture(scope="module")
def of_role(own_namespace: Namespace) -> Iterator[dict[Role, Programs]]:
    with (
        programs(Role.SWITCH) as switch,
        programs(Role.SERVER) as server,
        programs(Role.CLIENT) as client,
    ):
        yield {entry.role: entry for entry in (switch, server, client)}


def has_ip_header(data: bytes) -> bool:
    """Whether the IP header that the EtherType announces is whole."""
    needed = {b"\x08\x00": 34, b"\x86\xdd": 54}
    return len(data) >= needed.get(data[12:14], 14)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_passes_untouched(of_role: dict[Role, Programs], case: Case) -> None:
    for role, hook in HOOKS:
        if hook is Hook.EGRESS and not has_ip_header(case.frame):
            continue  # BPF_PROG_TEST_RUN makes no socket buffer of it
        result, counted = of_role[role].run(hook, case.frame)
        passes = (XdpAction.PASS,) if hook is Hook.INGRESS else (TcAction.OK, TcAction.UNSPEC)
        assert result.retval in passes, (role, hook)
        assert result.data_out == case.frame, (role, hook)
        assert counted == {case.counter: 1}, (role, hook)


def test_a_blank_group_is_for_the_client_only(of_role: dict[Role, Programs]) -> None:
    blank = frame(Header())
    for role, hook in HOOKS:
        result, counted = of_role[role].run(hook, blank)
        if (role, hook) == BLANK_IS_FINE_AT:
            assert counted == {"request_stamped": 1}
        else:
            assert result.data_out == blank
            assert set(counted) <= {"bad_group", "other_direction"}


def test_a_response_from_another_source_changes_no_state(of_role: dict[Role, Programs]) -> None:
    """SID says server 1, the source address is server 0's, and the client's."""
    switch = of_role[Role.SWITCH]
    switch.put("nc_state", 1, 7)
    header = RESPONSE.replace(sid=1, state=0, clo=Clo.ORIGINAL)
    for data in (
        frame(header, to_server=False),
        frame(header, to_server=False, ip6=True),
        frame(header.replace(sid=9), to_server=False),
    ):
        result, counted = switch.run(Hook.INGRESS, data)
        assert (result.retval, result.data_out) == (XdpAction.PASS, data)
        assert counted == {"unknown_source": 1}
    assert switch.get("nc_state", 1) == 7
    assert switch.get("nc_filter", 1) == 0


def test_reserved_bits_are_not_looked_at(of_role: dict[Role, Programs]) -> None:
    odd = RESPONSE.replace(flags=0xFC & ~Flag.NO_CLONE, reserved0=9, reserved1=8, sid=1, clo=1)
    data = frame(odd, to_server=False)
    result, counted = of_role[Role.CLIENT].run(Hook.INGRESS, data)
    assert (result.data_out, counted) == (data, {"response_delivered": 1})
