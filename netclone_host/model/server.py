# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server's side (section 3.4, "State tracking"): clones that come too late, and STATE."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from netclone_host.model.checksum import seal_at_egress
from netclone_host.model.extensions.reserve import Averages, state_word
from netclone_host.model.outcome import LINUX, WIRE, Outcome
from netclone_host.model.packet import MAX_GROUPS, Clo, Packet, Type, Untouched, parse

Identity = tuple[bytes, int, int, int | None]
"""Client address, client port, REQ_ID, CLIENT_ID if valid."""


@dataclass
class Server:
    sid: int
    workers: int
    ports: tuple[int, ...] = (1000,)
    n_filter_tables: int = 2
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
        hook, out = ("egress", WIRE) if port == LINUX else ("ingress", LINUX)
        try:
            packet = parse(frame, self.ports, MAX_GROUPS, self.n_filter_tables)
        except Untouched as untouched:
            return Outcome.of(hook, untouched.reason, (out, frame))
        now = now_ns // self.slice_ns
        if hook == "ingress" and packet.type == Type.REQ:
            return self._request(packet, now)
        if hook == "egress" and packet.type == Type.RESP:
            return self._response(packet, now, offloaded)
        return Outcome.of(hook, "other_direction", (out, frame))

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

    def _request(self, packet: Packet, now: int) -> Outcome:
        request = identity(packet, packet.source, packet.source_port)
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

    def _response(self, packet: Packet, now: int, offloaded: bool) -> Outcome:
        request = identity(packet, packet.destination, packet.destination_port)
        if self._is_in_flight(request, now):
            del self.in_flight[self.slot_of(request)]
        stamped = packet.copy()
        stamped.sid, stamped.state = self.sid, self._state(now, packet.req_id)
        if packet.multi_packet:  # ordered filter tables, section 3.7
            stamped.idx = packet.pkt_index % self.n_filter_tables
        seal_at_egress(packet, stamped, offloaded)
        return Outcome.of("egress", "response_stamped", (WIRE, bytes(stamped.frame)))


def identity(packet: Packet, client: bytes, client_port: int) -> Identity:
    client_id = packet.client_id if packet.client_id_valid else None
    return client, client_port, packet.req_id, client_id
