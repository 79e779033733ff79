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
    FAILED = 4


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
    secret: int = 0  # of the node that looks at it: hash_of_asker

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

    @property
    def is_request(self) -> bool:
        return self.type == Type.REQ

    @property
    def asker(self) -> tuple[bytes, int]:
        """Address and port of the client, whichever way the packet goes."""
        if self.is_request:
            return self.source, self.source_port
        return self.destination, self.destination_port

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
    def failed(self) -> bool:
        """A response that says: not served."""
        return bool(self.flags & Flags.FAILED)

    @property
    def multi_packet(self) -> bool:
        return self.pkt_count > 1

    @property
    def request_key(self) -> int:
        """One for all packets of a message. Where the client chose the id, who asked is in it:
        two clients may have chosen the same."""
        if not self.client_id_valid:
            return self.req_id | 1 << 56
        client = self.client_id << 32 ^ hash_of_asker(*self.asker, self.secret) << 32
        return self.req_id | client | 1 << 56 | 1 << 57

    @property
    def fingerprint(self) -> int:
        """One for each packet of a message, so that two of them never match."""
        packet = self.pkt_index << 48 ^ 1 << 58 if self.multi_packet else 0
        return self.request_key ^ packet


def mixed(x: int) -> int:
    """Mixes 64 bits."""
    x = x * 0x9E3779B97F4A7C15 % (1 << 64)
    x ^= x >> 32
    x = x * 0xD6E8FEB86659FD93 % (1 << 64)
    return x ^ x >> 29


def hash_of_asker(address: bytes, port: int, secret: int) -> int:
    """24 bits; without the secret nobody can find a second address and port with the same."""
    x = secret
    for at in range(0, len(address), 8):
        x = mixed(x ^ int.from_bytes(address[at : at + 8], "big"))
    return mixed(x ^ port) >> 40


@dataclass(frozen=True)
class Host:
    """What a host knows of itself; empty: not known."""

    mac: int = 0
    addresses: frozenset[bytes] = frozenset()

    def is_for(self, packet: Packet) -> bool:
        """Addressed to this host, not to a group, to all, or to another behind the same wire."""
        if self.mac and packet.destination_mac != self.mac:
            return False
        of_its_version = {a for a in self.addresses if len(a) == len(packet.destination)}
        return not of_its_version or packet.destination in of_its_version


def slot_of(fingerprint: int, slots_log2: int) -> int:
    """Hash slot in a table of 2^slots_log2: consecutive ids never collide."""
    req_id = fingerprint & 0xFFFFFFFF
    client_id = fingerprint >> 32 & 0xFFFF
    pkt_index = fingerprint >> 48 & 0xFF
    mixed = req_id ^ pkt_index << 7 ^ client_id << 11 ^ client_id >> 6
    return mixed & (1 << slots_log2) - 1


# ---- parsing ----


def parse(
    frame: bytes,
    ports: Sequence[int],
    groups: int | None = None,
    filter_tables: int | None = None,
    blank_allowed: bool = False,
    secret: int = 0,
) -> Packet:
    """The checks of the section Parsing, in its order; raises Untouched. Without groups and
    filter tables, up to GRP."""

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

    packet = Packet(
        bytearray(frame), tags > 0, ethertype == 0x86DD, protocol, ip, l4, header, end, secret
    )
    _check_header(packet, ports, groups, filter_tables, blank_allowed)
    return packet


def first_fragment(frame: bytes) -> bytes:
    """The first fragment of a UDP packet as a packet of its own; raises Untouched for any other."""
    whole, at = bytearray(frame), 14
    while int.from_bytes(whole[at - 2 : at], "big") in VLAN_TYPES:
        at += 4
    if whole[at] >> 4 == 4:
        if int.from_bytes(whole[at + 6 : at + 8], "big") & 0x1FFF or whole[at + 9] != UDP:
            raise Untouched("fragment")
        whole[at + 6 : at + 8] = b"\0\0"
        l4, length = at + 20, int.from_bytes(whole[at + 2 : at + 4], "big") - 20
    else:
        fragment = whole[at + 40 : at + 48]
        if len(fragment) < 8 or fragment[0] != UDP or fragment[2] or fragment[3] & 0xF8:
            raise Untouched("fragment")
        whole[at + 6] = UDP
        del whole[at + 40 : at + 48]
        l4, length = at + 40, int.from_bytes(whole[at + 4 : at + 6], "big") - 8
        whole[at + 4 : at + 6] = (length & 0xFFFF).to_bytes(2, "big")
    if len(whole) < l4 + 8:
        raise Untouched("fragment")
    whole[l4 + 4 : l4 + 6] = (length & 0xFFFF).to_bytes(2, "big")
    return bytes(whole)


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
    p: Packet,
    ports: Sequence[int],
    groups: int | None,
    filter_tables: int | None,
    blank_allowed: bool,
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
    if groups is None or filter_tables is None:
        return
    blank = blank_allowed and p.type == Type.REQ and p.grp == 0
    if not blank and not 1 <= p.grp <= groups:
        raise Untouched("bad_group")
    if p.sid >= MAX_SERVERS:
        raise Untouched("bad_sid")
    if p.idx >= filter_tables:
        raise Untouched("bad_idx")
