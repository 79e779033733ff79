# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Retransmissions of requests whose id is the client's: what [lines 19-23] compare carries the
attempt, and [line 7] clears what an earlier attempt has left."""

from __future__ import annotations

from dataclasses import dataclass, field

from netclone_host.model.extensions.multi_packet import REQUEST_SLOTS_LOG2
from netclone_host.model.packet import Packet, slot_of


@dataclass
class Attempts:
    counts: dict[int, int] = field(default_factory=dict)
    """How often packets of a request were cloned, by slot of the request key."""

    def count(self, packet: Packet) -> None:
        slot = slot_of(packet.request_key, REQUEST_SLOTS_LOG2)
        self.counts[slot] = self.counts.get(slot, 0) + 1

    def held(self, packet: Packet, filter_slots_log2: int) -> int:
        """A packet's fingerprint as the filter tables hold it: one of several with the client's
        id carries the attempt, over bits of REQ_ID that the slot tells as well."""
        if not (packet.multi_packet and packet.client_id_valid):
            return packet.fingerprint
        attempt = self.counts.get(slot_of(packet.request_key, REQUEST_SLOTS_LOG2), 0)
        high, low = divmod(attempt, 1 << filter_slots_log2)
        return packet.fingerprint ^ low ^ high % 32 << 59
