# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a data plane may know of a frame, in plain Python: parse, identity, checksums.

Written from docs/data-plane.md and docs/wire-format.md; shares no code with the C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, IntFlag

Number = Callable[[int, int], int]
"""Reads a big-endian number (offset, size) of the frame, or raises Untouched("runt")."""

HEADER_LEN = 28
MAX_L4_LEN = 4096
MAX_SERVERS = 256
MAX_GROUPS = MAX_SERVERS * (MAX_SERVERS - 1)
UDP, TCP = 17, 6
VLAN_TYPES = (0x8100, 0x88A8)
IPV6_EXTENSIONS = (0, 43, 50, 51, 60, 135, 139, 140)
IPV6_FRAGMENT = 44


class Type(IntEnum):
    REQ = 0
    RESP = 1


class Clo(IntEnum):
    NONE = 0
    ORIGINAL = 1
    CLONE = 2


class Flags(IntFlag):
    NO_CLONE = 1
    CLIENT_ID_VALID = 2


class Untouched(Exception):
    """The packet passes as it came; `reason` names the counter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Field:
    """A big-endian field of the header, at its offset in docs/wire-format.md."""

    def __init__(self, offset: int, size: int) -> None:
        self.offset, self.size = offset, size

    def __get__(self, packet: Packet, owner: object) -> int:
        at = packet.header + self.offset
        return int.from_bytes(packet.frame[at : at + self.size], "big")

    def __set__(self, packet: Packet, value: int) -> None:
        at = packet.header + self.offset
        packet.frame[at : at + self.size] = value.to_bytes(self.size, "big")


@dataclass
class Packet:
    """A NetClone packet: the frame, and where its layers start (byte offsets)."""

    frame: bytearray
    tagged: bool
    ipv6: bool
    protocol: int
    ip: int
    l4: int
    header: int
    end: int  # of the IP packet; Ethernet padding may follow

    switch_id = Field(0, 2)
    flags = Field(2, 1)
    type = Field(3, 1)
    req_id = Field(4, 4)
    grp = Field(8, 4)
    sid = Field(12, 4)
    state = Field(16, 4)
    pkt_index = Field(20, 1)
    pkt_count = Field(21, 1)
    clo = Field(23, 1)
    client_id = Field(24, 2)
    idx = Field(27, 1)

    def copy(self) -> Packet:
        return replace(self, frame=bytearray(self.frame))

    def _slice(self, at: int, size: int) -> bytes:
        return bytes(self.frame[at : at + size])

    @property
    def destination_mac(self) -> int:
        return int.from_bytes(self.frame[0:6], "big")

    @property
    def source_mac(self) -> int:
        return int.from_bytes(self.frame[6:12], "big")

    @property
    def source(self) -> bytes:
        """Source address, 4 or 16 bytes."""
        return self._slice(self.ip + 8, 16) if self.ipv6 else self._slice(self.ip + 12, 4)

    @property
    def destination(self) -> bytes:
        return self._slice(self.ip + 24, 16) if self.ipv6 else self._slice(self.ip + 16, 4)

    @property
    def source_port(self) -> int:
        return int.from_bytes(self._slice(self.l4, 2), "big")

    @property
    def destination_port(self) -> int:
        return int.from_bytes(self._slice(self.l4 + 2, 2), "big")

    def readdress(self, mac: bytes, address: bytes) -> None:
        """Send it to another server: Ethernet and IP destination, nothing else."""
        self.frame[0:6] = mac
        at = self.ip + (24 if self.ipv6 else 16)
        self.frame[at : at + len(address)] = address

    # ---- identity of a request ----

    @property
    def client_id_valid(self) -> bool:
        return bool(self.flags & Flags.CLIENT_ID_VALID)

    @property
    def identified(self) -> bool:
        return self.client_id_valid or self.req_id != 0

    @property
    def multi_packet(self) -> bool:
        return self.pkt_count > 1

    @property
    def request_key(self) -> int:
        """One for all packets of a message."""
        client = self.client_id << 32 | 1 << 57 if self.client_id_valid else 0
        return self.req_id | client | 1 << 56

    @property
    def fingerprint(self) -> int:
        """One for each packet of a message, so that two of them never match."""
        return self.request_key | (self.pkt_index << 48 | 1 << 58 if self.multi_packet else 0)


def slot_of(fingerprint: int, slots_log2: int) -> int:
    """Hash slot in a table of 2^slots_log2: consecutive ids never collide."""
    req_id = fingerprint & 0xFFFFFFFF
    client_id = fingerprint >> 32 & 0xFFFF
    pkt_index = fingerprint >> 48 & 0xFF
    mixed = req_id ^ pkt_index << 7 ^ client_id << 11 ^ client_id >> 6
    return mixed & (1 << slots_log2) - 1


# ---- parsing ----


def parse(
    frame: bytes, ports: Sequence[int], groups: int, filter_tables: int, blank_allowed: bool = False
) -> Packet:
    """The checks of the section Parsing, in its order; raises Untouched."""

    def number(at: int, size: int) -> int:
        if at + size > len(frame):
            raise Untouched("runt")
        return int.from_bytes(frame[at : at + size], "big")

    ip, tags = 14, 0
    ethertype = number(12, 2)
    while ethertype in VLAN_TYPES and tags < 2:
        ethertype = number(ip + 2, 2)
        ip, tags = ip + 4, tags + 1

    if ethertype == 0x0800:
        protocol, l4, end = _parse_ipv4(frame, ip, number)
    elif ethertype == 0x86DD:
        protocol, l4, end = _parse_ipv6(frame, ip, number)
    else:
        raise Untouched("not_netclone")

    if protocol not in (UDP, TCP):
        raise Untouched("not_netclone")
    number(l4, 8 if protocol == UDP else 20)
    if number(l4, 2) not in ports and number(l4 + 2, 2) not in ports:
        raise Untouched("not_netclone")

    if end > len(frame) or end - l4 > MAX_L4_LEN:
        raise Untouched("bad_length")
    if protocol == UDP:
        header = l4 + 8
        if number(l4 + 4, 2) != end - l4 or end - l4 < 8:
            raise Untouched("bad_length")
    else:
        data_offset = number(l4 + 12, 1) >> 4
        header = l4 + 4 * data_offset
        if data_offset < 5 or header > end:
            raise Untouched("bad_length")
    if end - header < HEADER_LEN:
        raise Untouched("short_payload")

    packet = Packet(bytearray(frame), tags > 0, ethertype == 0x86DD, protocol, ip, l4, header, end)
    _check_header(packet, ports, groups, filter_tables, blank_allowed)
    return packet


def _parse_ipv4(frame: bytes, ip: int, number: Number) -> tuple[int, int, int]:
    number(ip, 20)
    version, words = frame[ip] >> 4, frame[ip] & 15
    if version != 4:
        raise Untouched("not_netclone")
    if words < 5:
        raise Untouched("runt")
    if words > 5:
        raise Untouched("ip_options")
    if number(ip + 6, 2) & 0x3FFF:  # more fragments, offset
        raise Untouched("fragment")
    return frame[ip + 9], ip + 20, ip + number(ip + 2, 2)


def _parse_ipv6(frame: bytes, ip: int, number: Number) -> tuple[int, int, int]:
    number(ip, 40)
    if frame[ip] >> 4 != 6:
        raise Untouched("not_netclone")
    next_header = frame[ip + 6]
    if next_header in IPV6_EXTENSIONS:
        raise Untouched("ipv6_extension")
    if next_header == IPV6_FRAGMENT:
        raise Untouched("fragment")
    return next_header, ip + 40, ip + 40 + number(ip + 4, 2)


def _check_header(
    p: Packet, ports: Sequence[int], groups: int, filter_tables: int, blank_allowed: bool
) -> None:
    if p.protocol == TCP and not p.client_id_valid:
        raise Untouched("tcp_without_client_id")
    if not (
        (p.type == Type.REQ and p.destination_port in ports)
        or (p.type == Type.RESP and p.source_port in ports)
    ):
        raise Untouched("bad_type")
    if p.clo > Clo.CLONE:
        raise Untouched("bad_clo")
    blank = blank_allowed and p.type == Type.REQ and p.grp == 0
    if not blank and not 1 <= p.grp <= groups:
        raise Untouched("bad_group")
    if p.sid >= MAX_SERVERS:
        raise Untouched("bad_sid")
    if p.idx >= filter_tables:
        raise Untouched("bad_idx")
