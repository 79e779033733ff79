# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames for the corpus, written down field by field and put on the wire by scapy.

Neither the oracle nor the C takes part: what a scenario expects is a second frame,
described as the first one with some fields different, and its checksums are scapy's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from scapy.layers.inet import IP, TCP, UDP, in4_chksum
from scapy.layers.inet6 import IPv6, in6_chksum
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from netclone_host.wire import Header


@dataclass(frozen=True)
class Node:
    port: int
    mac: str
    ip4: str
    ip6: str


CARDS = ("b8:59:9f", "e4:1d:2d", "a0:36:9f", "3c:fd:fe", "90:e2:ba", "f4:52:14")
"""Makers of network cards: every bit of an address is in play but the group bit."""


def mac_of(number: int) -> str:
    tail = number * 0x9E3779B1 >> 8 & 0xFFFFFF
    return CARDS[number % len(CARDS)] + "".join(f":{tail >> at & 0xFF:02x}" for at in (16, 8, 0))


def server(sid: int) -> Node:
    """Server SID of the rack that the scenarios use: port SID + 1."""
    return Node(sid + 1, mac_of(sid + 1), f"10.0.1.{101 + sid}", f"fd00:1::{101 + sid:x}")


C1 = Node(7, mac_of(1001), "10.0.1.1", "fd00:1::1")
C2 = Node(8, mac_of(1002), "10.0.1.2", "fd00:1::2")
# Where clients send: any server's address will do, the switch decides.
ANY = Node(0, mac_of(2001), "10.0.1.254", "fd00:1::fe")


@dataclass(frozen=True)
class Frame:
    src: Node = C1
    dst: Node = ANY
    header: Header = field(default_factory=Header)
    v6: bool = False
    tcp: bool = False
    sport: int = 40000
    dport: int = 1000
    vlans: tuple[tuple[int, int], ...] = ()  # (ethertype, tag)
    payload: bytes = b"payload of some request"
    ttl: int = 64
    checksum: str = "full"
    """full; none (0 on the wire); partial (the pseudo header only); wrong (full + 1)"""
    padding: bytes = b""
    ip: tuple[tuple[str, Any], ...] = ()  # scapy's names of IP or IPv6 fields
    l4: tuple[tuple[str, Any], ...] = ()  # scapy's names of UDP or TCP fields

    def but(self, **changes: Any) -> Frame:
        """The same frame with other header fields, or other fields of this class."""
        of_frame = {k: v for k, v in changes.items() if k in Frame.__dataclass_fields__}
        of_header = {k: v for k, v in changes.items() if k not in of_frame}
        return replace(self, header=replace(self.header, **of_header), **of_frame)

    def to(self, node: Node, **changes: Any) -> Frame:
        """Readdressed: destination MAC and IP, and the header fields given."""
        return self.but(dst=node, **changes)

    def bytes(self) -> bytes:
        ether = Ether(src=self.src.mac, dst=self.dst.mac)
        network = 0x86DD if self.v6 else 0x0800
        types = [vlan[0] for vlan in self.vlans] + [network]
        ether.type = types[0]
        for (_, tag), inner in zip(self.vlans, types[1:], strict=True):
            ether = ether / Dot1Q(vlan=tag, type=inner)
        if self.v6:
            ip = IPv6(src=self.src.ip6, dst=self.dst.ip6, hlim=self.ttl, nh=6 if self.tcp else 17)
        else:
            ip = IP(src=self.src.ip4, dst=self.dst.ip4, ttl=self.ttl, proto=6 if self.tcp else 17)
        for name, value in self.ip:
            setattr(ip, name, value)
        l4 = (TCP if self.tcp else UDP)(sport=self.sport, dport=self.dport)
        for name, value in self.l4:
            setattr(l4, name, value)
        return self._checksummed(bytes(ether / ip / l4 / Raw(self.header.encode() + self.payload)))

    def _checksummed(self, full: bytes) -> bytes:
        if self.checksum == "full":
            return full + self.padding
        l4 = 14 + 4 * len(self.vlans) + (40 if self.v6 else 20)
        at = l4 + (16 if self.tcp else 6)
        correct = int.from_bytes(full[at : at + 2], "big")
        value = {
            "none": 0,
            "partial": self._pseudo_sum(len(full) - l4),
            "wrong": correct + 1 if correct < 0xFFFE else 1,
        }[self.checksum]
        return full[:at] + value.to_bytes(2, "big") + full[at + 2 :] + self.padding

    def _pseudo_sum(self, length: int) -> int:
        """Sum of the pseudo header alone, not inverted."""
        proto = 6 if self.tcp else 17
        if self.v6:
            below = IPv6(src=self.src.ip6, dst=self.dst.ip6, nh=proto, plen=length)
            probe = bytes(length)  # zeros: they add nothing to the sum
            return int(in6_chksum(proto, below, probe)) ^ 0xFFFF
        below = IP(src=self.src.ip4, dst=self.dst.ip4, proto=proto, len=20 + length)
        return int(in4_chksum(proto, below, bytes(length))) ^ 0xFFFF


def request(**fields: Any) -> Frame:
    """A client's request: REQ from C1 to port 1000, GRP 1, IDX 0 unless said otherwise."""
    return Frame(header=Header(type=0, grp=1)).but(**fields)


def response(sid: int, to: Node = C1, **fields: Any) -> Frame:
    """What server SID answers to a request of group 1."""
    base = Frame(
        src=server(sid),
        dst=to,
        sport=1000,
        dport=40000,
        header=Header(type=1, grp=1, sid=sid),
        payload=b"payload of some response",
    )
    return base.but(**fields)
