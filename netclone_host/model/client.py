# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A client's side: groups and filter tables for its requests, one answer for each of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from netclone_host.model.checksum import seal_at_egress
from netclone_host.model.outcome import LINUX, WIRE, Outcome
from netclone_host.model.packet import Clo, Host, Packet, Type, Untouched, mixed, parse, slot_of

ANSWERED_SLOTS_LOG2 = 16
TICK_SHIFT = 22
"""Of the time in an entry: ticks of 2^22 ns."""


def answered_key(fingerprint: int) -> int:
    """What the answered table holds of a fingerprint beside the time: 36 bits. The slot tells
    the low half of REQ_ID; with a CLIENT_ID they are a hash."""
    if fingerprint >> 57 & 1:
        return mixed(fingerprint) >> 29
    packet = (fingerprint >> 58 & 1) << 24 | (fingerprint >> 48 & 0xFF) << 16
    return 1 << 35 | packet | (fingerprint >> 16 & 0xFFFF)


@dataclass
class Client:
    n_groups: int
    n_filter_tables: int = 2
    ports: tuple[int, ...] = (1000,)
    host: Host = field(default_factory=Host)
    switch_id: int | None = None
    """SWITCH_ID of the client's ToR, which claims its requests; None: not known."""
    duplicate_window_ns: int = 10**9
    secret: int = 0
    choose: Callable[[Packet], tuple[int, int]] | None = None
    """(GRP, IDX) of a blank request; None: at random, or from its id if it has one."""
    answered: dict[int, tuple[int, int]] = field(default_factory=dict)
    """slot: (fingerprint, time seen); a cleared one has fingerprint 0"""

    def receive(self, port: int, frame: bytes, now_ns: int = 0, offloaded: bool = False) -> Outcome:
        """One frame, from the wire or from the client's own stack (port LINUX)."""
        hook, out = ("egress", WIRE) if port == LINUX else ("ingress", LINUX)
        try:
            packet = parse(
                frame,
                self.ports,
                self.n_groups,
                self.n_filter_tables,
                blank_allowed=hook == "egress",
                secret=self.secret,
            )
        except Untouched as untouched:
            return Outcome.of(hook, untouched.reason, (out, frame))
        if hook == "egress" and packet.type == Type.REQ:
            return self._request(packet, offloaded)
        if hook == "ingress" and packet.type == Type.RESP:
            return self._response(packet, now_ns)
        return Outcome.of(hook, "other_direction", (out, frame))

    def _request(self, packet: Packet, offloaded: bool) -> Outcome:
        if packet.client_id_valid:  # a retransmission is answered again
            slot = slot_of(packet.request_key, ANSWERED_SLOTS_LOG2)
            if self.answered.get(slot, (0, 0))[0] == packet.request_key:
                del self.answered[slot]
        if packet.grp != 0:
            return Outcome.of("egress", "request_passed", (WIRE, bytes(packet.frame)))
        stamped = packet.copy()
        stamped.grp, stamped.idx = (self.choose or self._choose)(packet)
        seal_at_egress(packet, stamped, offloaded)
        return Outcome.of("egress", "request_stamped", (WIRE, bytes(stamped.frame)))

    def _choose(self, packet: Packet) -> tuple[int, int]:
        dice = random.Random(packet.request_key) if packet.client_id_valid else random.Random()
        return dice.randint(1, self.n_groups), dice.randrange(self.n_filter_tables)

    def _response(self, packet: Packet, now_ns: int) -> Outcome:
        if not self.host.is_for(packet):
            return Outcome.of("ingress", "not_for_host", (LINUX, bytes(packet.frame)))
        if self.switch_id is not None and packet.switch_id != self.switch_id:
            return Outcome.of("ingress", "foreign_switch", (LINUX, bytes(packet.frame)))
        delivered = Outcome.of("ingress", "response_delivered", (LINUX, bytes(packet.frame)))
        put_together_by_client = packet.multi_packet and packet.client_id_valid
        if packet.clo == Clo.NONE or not packet.identified or put_together_by_client:
            return delivered
        slot = slot_of(packet.fingerprint, ANSWERED_SLOTS_LOG2)
        known, seen_ns = self.answered.get(slot, (0, 0))
        age_ns = (now_ns >> TICK_SHIFT) - (seen_ns >> TICK_SHIFT) << TICK_SHIFT
        answered = known == packet.fingerprint and age_ns <= self.duplicate_window_ns
        if not packet.failed or answered:
            self.answered[slot] = (packet.fingerprint, now_ns)
        if answered:
            return Outcome.of("ingress", "dropped_already_answered")
        return delivered
