# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The forwarding cache: which port a MAC address is behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from netclone_host.model.packet import Packet

SLOTS = 4096
MAX_PORT = 0xFFFF


@dataclass
class ForwardingCache:
    entries: dict[int, tuple[int, int]] = field(default_factory=dict)
    """slot: (MAC, port)"""
    fixed: set[int] = field(default_factory=set)
    """MAC addresses that the topology gives to somebody: their slots are never learned over."""

    @staticmethod
    def _slot(mac: int) -> int:
        return (mac ^ mac >> 12 ^ mac >> 24) % SLOTS

    def add(self, mac: int, port: int) -> None:
        self.entries[self._slot(mac)] = (mac, port)

    def learn(self, port: int, packet: Packet) -> None:
        there, _ = self.entries.get(self._slot(packet.source_mac), (0, 0))
        of_a_group = packet.source_mac >> 40 & 1
        if packet.tagged or port > MAX_PORT or there in self.fixed or of_a_group:
            return
        self.add(packet.source_mac, port)

    def port_of(self, packet: Packet) -> int | None:
        if packet.tagged:
            return None
        mac, port = self.entries.get(self._slot(packet.destination_mac), (0, 0))
        return port if mac == packet.destination_mac and port else None

    def ports_of_macs(self) -> Iterator[tuple[int, int]]:
        yield from self.entries.values()
