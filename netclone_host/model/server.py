# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server's side (section 3.4, "State tracking"): clones that come too late, and STATE."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from netclone_host.model.checksum import seal_at_egress
from netclone_host.model.extensions.reserve import Averages, state_word
from netclone_host.model.outcome import LINUX, WIRE, Outcome
from netclone_host.model.packet import (
    MAX_GROUPS,
    Clo,
    Host,
    Packet,
    Type,
    Untouched,
    first_fragment,
    parse,
)

Identity = tuple[bytes, int, int, int | None]
"""Client address, client port, REQ_ID, CLIENT_ID if valid."""


@dataclass
class Server:
    sid: int
    workers: int
    ports: tuple[int, ...] = (1000,)
    n_filter_tables: int = 2
    host: Host = field(default_factory=Host)
    slice_ns: int = 1 << 27
    slices: int = 7
    """A request that is never answered is forgotten after `slices` slices of time."""
    app_queue_length: int | None = None
    """What the application says its queue is; None: counted here."""
    reserve: bool = False
    """The reserve rule; then `app_queue_length` is the number of requests held."""
    averages: Averages = field(default_factory=Averages)
    """What the reserve rule knows of the load."""
    slot_of: Callable[[Identity], Hashable] = lambda request: request
    """Where a request stands in the table of requests in flight; one that falls on another's
    slot takes it."""
    in_flight: dict[Hashable, tuple[Identity, int]] = field(default_factory=dict)
    """slot: (request, its slice)"""

    def receive(self, port: int, frame: bytes, now_ns: int = 0, offloaded: bool = False) -> Outcome:
        """One frame, from the wire or from the server's own stack (port LINUX).

        offloaded: its L4 checksum is only a partial sum and marked so.
        """
        now = now_ns // self.slice_ns
        if port == LINUX:
            return self._egress(frame, now, offloaded)
        return self._ingress(frame, now)

    # ---- ingress ----

    def _ingress(self, frame: bytes, now: int) -> Outcome:
        try:
            packet = self._parse(frame)
        except Untouched as untouched:
            return Outcome.of("ingress", untouched.reason, (LINUX, frame))
        if not self.host.is_for(packet):
            return Outcome.of("ingress", "not_for_host", (LINUX, frame))
        if packet.type == Type.RESP and packet.destination_port in self.ports:
            # Two servers would answer each other without end.
            return Outcome.of("ingress", "dropped_from_server_port")
        if packet.type == Type.REQ:
            return self._request(packet, now)
        return Outcome.of("ingress", "other_direction", (LINUX, frame))

    def _request(self, packet: Packet, now: int) -> Outcome:
        request = identity(packet)
        clone = packet.clo == Clo.CLONE
        if clone and packet.multi_packet and packet.pkt_index > 0:
            busy = not self._is_in_flight(request, now)  # judged by its message
        else:
            busy = clone and self.refuses_clone(now, packet.req_id)
        if busy:
            return Outcome.of("ingress", "dropped_server_busy")
        if self.reserve:
            self.averages.note(clone, min(self.held(now), self.workers))
        if not self._is_in_flight(request, now):
            self.in_flight[self.slot_of(request)] = request, now
        counter = "clone_admitted" if clone else "request_admitted"
        return Outcome.of("ingress", counter, (LINUX, bytes(packet.frame)))

    # ---- egress ----

    def _egress(self, frame: bytes, now: int, offloaded: bool) -> Outcome:
        try:
            packet = self._parse(frame)
        except Untouched as untouched:
            return self._untouched_response(untouched.reason, frame, now)
        if packet.type == Type.RESP:
            return self._response(packet, now, offloaded)
        return Outcome.of("egress", "other_direction", (WIRE, frame))

    def _response(self, packet: Packet, now: int, offloaded: bool) -> Outcome:
        self._finish(identity(packet), now)
        stamped = packet.copy()
        stamped.sid, stamped.state = self.sid, self._state(now, packet.req_id)
        if packet.multi_packet:  # ordered filter tables, section 3.7
            stamped.idx = packet.pkt_index % self.n_filter_tables
        seal_at_egress(packet, stamped, offloaded)
        return Outcome.of("egress", "response_stamped", (WIRE, bytes(stamped.frame)))

    def _untouched_response(self, reason: str, frame: bytes, now: int) -> Outcome:
        """A response longer than the MTU leaves in fragments, of which only the first has a
        header; neither is stamped, but its request is no longer in flight."""
        if reason == "fragment":
            try:
                packet = self._parse(first_fragment(frame))
                if packet.type == Type.RESP:
                    self._finish(identity(packet), now)
                    reason = "response_fragmented"
            except Untouched:
                pass
        return Outcome.of("egress", reason, (WIRE, frame))

    def _parse(self, frame: bytes) -> Packet:
        return parse(frame, self.ports, MAX_GROUPS, self.n_filter_tables)

    # ---- what is in flight ----

    def queue_length(self, now: int) -> int:
        if self.app_queue_length is not None:
            return self.app_queue_length
        return max(0, self.count_in_flight(now) - self.workers)

    def count_in_flight(self, now: int) -> int:
        return sum(now - born < self.slices for _, born in self.in_flight.values())

    def held(self, now: int) -> int:
        """Requests waiting or in work."""
        return self.count_in_flight(now) if self.app_queue_length is None else self.app_queue_length

    def refuses_clone(self, now: int, req_id: int) -> bool:
        """Whether a clone with this id is dropped if it comes now."""
        if not self.reserve:
            return self.queue_length(now) > 0
        return self.held(now) + self.averages.reserved(self.workers, req_id) > self.workers

    def _state(self, now: int, req_id: int) -> int:
        if not self.reserve:
            return self.queue_length(now)
        return state_word(self.held(now), self.workers, self.refuses_clone(now, req_id))

    def _is_in_flight(self, request: Identity, now: int) -> bool:
        there, born = self.in_flight.get(self.slot_of(request), (None, 0))
        return there == request and now - born < self.slices

    def _finish(self, request: Identity, now: int) -> None:
        if self._is_in_flight(request, now):
            del self.in_flight[self.slot_of(request)]


def identity(packet: Packet) -> Identity:
    address, port = packet.asker
    return address, port, packet.req_id, packet.client_id if packet.client_id_valid else None
