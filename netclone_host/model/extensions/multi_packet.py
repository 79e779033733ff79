# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Multi-packet requests (section 3.7): [line 6] is asked for the packet that comes first, and the
cloned-request table holds its answer for the others."""

from __future__ import annotations

from dataclasses import dataclass, field

from netclone_host.model.packet import Packet, slot_of

REQUEST_SLOTS_LOG2 = 16
CLONED, SECOND_CHOSEN = 1 << 59, 1 << 60


@dataclass
class ClonedRequestTable:
    entries: dict[int, int] = field(default_factory=dict)
    """slot: request key, and what was decided"""

    def remember(self, packet: Packet, cloned: bool, second_chosen: bool) -> None:
        entry = packet.request_key
        entry |= (CLONED if cloned else 0) | (SECOND_CHOSEN if second_chosen else 0)
        self.entries[self._slot(packet)] = entry

    def recall(self, packet: Packet) -> tuple[bool, bool] | None:
        """(cloned, second chosen) of the message that this packet belongs to."""
        if not (packet.multi_packet and packet.client_id_valid):
            return None
        entry = self.entries.get(self._slot(packet), 0)
        if entry & ~(CLONED | SECOND_CHOSEN) != packet.request_key:
            return None
        return bool(entry & CLONED), bool(entry & SECOND_CHOSEN)

    @staticmethod
    def _slot(packet: Packet) -> int:
        return slot_of(packet.request_key, REQUEST_SLOTS_LOG2)
