# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The switch: Algorithm 1 of the paper and its extensions (sections 3.4 - 3.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from netclone_host.model.checksum import (
    complete,
    has_none,
    is_correct,
    is_partial,
    lacks_checksum,
    seal,
)
from netclone_host.model.outcome import LINUX, Outcome
from netclone_host.model.packet import Clo, Flags, Packet, Type, Untouched, parse, slot_of

REQUEST_SLOTS_LOG2 = 16
FDB_SLOTS = 4096
STORED_CLONED, STORED_SECOND = 1 << 59, 1 << 60
REFUSES_CLONES, LOAD_MASK = 1 << 31, (1 << 31) - 1


@dataclass(frozen=True)
class Server:
    """An entry of AddrT. port 0: not resolved; an address of None: none of that version."""

    port: int
    mac: bytes
    ip4: bytes | None = None
    ip6: bytes | None = None

    def address(self, packet: Packet) -> bytes | None:
        return self.ip6 if packet.ipv6 else self.ip4


@dataclass
class Health:
    """What a server owes. Times in ns; None: owes nothing, not found failed."""

    owing_since_ns: int | None = None
    owed: int = 0
    probe_counted_from_ns: int | None = None


@dataclass(frozen=True)
class Decision:
    """Where a request goes: to `chosen`, and if cloned a copy to `other`."""

    chosen: int
    other: int | None
    probe: bool = False


@dataclass
class Switch:
    ports: tuple[int, ...] = (1000,)
    n_groups: int = 2
    n_filter_tables: int = 2
    filter_slots_log2: int = 17
    racksched: bool = False
    generic: bool = False
    switch_id: int = 0
    server_timeout_ns: int = 0
    cloning: bool = True  # False: RackSched alone
    reserve: bool = False  # the reserve rule, docs/data-plane.md "Beyond the paper"
    hold: bool = False  # the control plane renumbers groups: no clones meanwhile
    groups: dict[int, tuple[int, int]] = field(default_factory=dict)  # GrpT
    servers: dict[int, Server] = field(default_factory=dict)  # AddrT
    state: dict[int, int] = field(default_factory=dict)  # StateT, ShadowT; default 0
    filter: dict[tuple[int, int], int] = field(default_factory=dict)  # FilterT: (IDX, slot)
    requests: dict[int, int] = field(default_factory=dict)  # cloned-request table: slot
    attempts: dict[int, int] = field(default_factory=dict)  # clonings, by slot of request key
    fdb: dict[int, tuple[int, int]] = field(default_factory=dict)  # slot: (MAC, port)
    health: dict[int, Health] = field(default_factory=dict)
    sequence: int = 0  # the last REQ_ID

    def receive(self, port: int, frame: bytes, now_ns: int = 0) -> Outcome:
        """One frame that arrives on a port; every frame that leaves, and why."""
        try:
            packet = parse(frame, self.ports, self.n_groups, self.n_filter_tables)
            if packet.switch_id not in (0, self.switch_id):
                raise Untouched("foreign_switch")
            if packet.type == Type.REQ:
                return self._request(port, packet, now_ns)
            return self._response(packet)
        except Untouched as untouched:
            return Outcome.of("ingress", untouched.reason, (LINUX, frame))

    # ---- requests: lines 1 - 13 ----

    def _request(self, port: int, packet: Packet, now_ns: int) -> Outcome:
        if packet.clo != Clo.NONE:
            raise Untouched("already_cloned")
        if self._is_ambiguous(packet):
            raise Untouched("checksum_ambiguous")
        if packet.flags & Flags.NO_CLONE:
            return self._no_clone(port, packet)
        first, second = self.groups[packet.grp]
        usable = [sid for sid in (first, second) if self._usable(sid, packet)]
        if not usable:
            raise Untouched("unknown_port")
        decision = self._remembered(packet, usable, now_ns) or self._decide(packet, usable, now_ns)
        if self.hold:
            decision = Decision(decision.chosen, None)

        self._learn(port, packet)
        self._owe(decision, now_ns)
        original = packet.copy()
        self._identify(original)  # lines 2 - 3
        if decision.other is not None:  # lines 6 - 9
            original.clo, original.sid = Clo.ORIGINAL, decision.other
            self._forget_past_self(original)
        partial = is_partial(packet)
        frame = self._send(packet, original, decision.chosen, partial)  # line 5
        if decision.other is None:
            return Outcome.of("ingress", "not_cloned", frame)
        outcome = Outcome.of("ingress", "probed" if decision.probe else "cloned", frame)
        copy = original.copy()
        copy.clo = Clo.CLONE  # lines 11 - 13
        still_partial = self.generic and is_partial(original)
        copied = self._send(original, copy, decision.other, still_partial)
        return outcome.and_then("clone", "clone_sent", copied)

    def _no_clone(self, port: int, packet: Packet) -> Outcome:
        out = self._port_of(packet)
        if out is None:
            raise Untouched("unknown_port")
        self._learn(port, packet)
        marked = packet.copy()
        self._identify(marked)
        seal(packet, marked, is_partial(packet), self.generic, addressed=False)
        return Outcome.of("ingress", "no_clone", (out, bytes(marked.frame)))

    def _usable(self, sid: int, packet: Packet) -> bool:
        server = self.servers.get(sid)
        return server is not None and server.port != 0 and server.address(packet) is not None

    def _decide(self, packet: Packet, usable: list[int], now_ns: int) -> Decision:
        if packet.multi_packet and not packet.client_id_valid:
            return Decision(usable[0], None)  # nothing ties the packets together
        if len(usable) == 1:
            decision = Decision(usable[0], None)
        else:
            decision = self._choose(usable[0], usable[1], now_ns)
        if packet.multi_packet:
            self._remember(packet, decision)
        return decision

    def _choose(self, first: int, second: int, now_ns: int) -> Decision:
        failed = [sid for sid in (first, second) if self._failed(sid, now_ns)]
        if len(failed) == 2:
            return Decision(first, None)
        if failed:
            living = second if failed[0] == first else first
            if self._probe_due(failed[0], now_ns):
                return Decision(living, failed[0], probe=True)
            return Decision(living, None)
        queues = self.state.get(first, 0), self.state.get(second, 0)
        if self.reserve:
            return self._choose_by_load(first, second)
        if not self.cloning:
            return Decision(second if queues[1] < queues[0] else first, None)
        if queues == (0, 0):
            return Decision(first, second)
        if self.racksched and queues[1] < queues[0]:
            return Decision(second, None)
        return Decision(first, None)

    def _choose_by_load(self, first: int, second: int) -> Decision:
        """Beyond the paper: to where there is most room, cloned if neither refuses clones."""
        states = {sid: self.state.get(sid, 0) for sid in (first, second)}
        load = {sid: state & LOAD_MASK for sid, state in states.items()}
        chosen, other = (second, first) if load[second] < load[first] else (first, second)
        clone = not any(state & REFUSES_CLONES for state in states.values())
        for sid in (chosen, other) if clone else (chosen,):
            if load[sid] < LOAD_MASK:
                self.state[sid] = states[sid] + 1
        return Decision(chosen, other if clone else None)

    def _identify(self, packet: Packet) -> None:
        packet.switch_id = self.switch_id
        if not packet.client_id_valid:
            self.sequence = self.sequence % 0xFFFFFFFF + 1  # 0 means not assigned
            packet.req_id = self.sequence

    def _forget_past_self(self, packet: Packet) -> None:
        """It may be a retransmission, answered in full or in part before, in any number of
        packets: those of longer responses are told apart by the attempt."""
        self._clear(packet, packet.fingerprint, self._held(packet))
        if packet.client_id_valid:
            self._clear(packet, packet.request_key, packet.request_key)
            slot = slot_of(packet.request_key, REQUEST_SLOTS_LOG2)
            self.attempts[slot] = self.attempts.get(slot, 0) + 1

    def _clear(self, packet: Packet, fingerprint: int, held: int) -> None:
        at = packet.idx, slot_of(fingerprint, self.filter_slots_log2)
        if self.filter.get(at) == held:
            del self.filter[at]

    def _held(self, packet: Packet) -> int:
        """A packet's fingerprint as the filter tables hold it: with the attempt, if it is one of
        several with the client's id, over bits of REQ_ID that the slot tells as well."""
        if not (packet.multi_packet and packet.client_id_valid):
            return packet.fingerprint
        attempt = self.attempts.get(slot_of(packet.request_key, REQUEST_SLOTS_LOG2), 0)
        high, low = divmod(attempt, 1 << self.filter_slots_log2)
        return packet.fingerprint ^ low ^ high % 32 << 59

    def _send(self, before: Packet, after: Packet, sid: int, partial: bool) -> tuple[int, bytes]:
        server = self.servers[sid]
        address = server.address(after)
        assert address is not None  # usable
        after.readdress(server.mac, address)
        seal(before, after, partial, self.generic)
        return server.port, bytes(after.frame)

    def _is_ambiguous(self, packet: Packet) -> bool:
        return self.generic and not has_none(packet) and is_partial(packet) and is_correct(packet)

    # ---- multi-packet requests: every packet of a cloned request is cloned ----

    def _remember(self, packet: Packet, decision: Decision) -> None:
        entry = packet.request_key
        if decision.other is not None:
            entry |= STORED_CLONED
        if decision.chosen == self.groups[packet.grp][1]:
            entry |= STORED_SECOND
        self.requests[slot_of(packet.request_key, REQUEST_SLOTS_LOG2)] = entry

    def _remembered(self, packet: Packet, usable: list[int], now_ns: int) -> Decision | None:
        if not (packet.multi_packet and packet.client_id_valid):
            return None
        entry = self.requests.get(slot_of(packet.request_key, REQUEST_SLOTS_LOG2), 0)
        if entry & ~(STORED_CLONED | STORED_SECOND) != packet.request_key:
            return None
        first, second = self.groups[packet.grp]
        chosen, other = (second, first) if entry & STORED_SECOND else (first, second)
        alone = not entry & STORED_CLONED and len(usable) == 2
        if alone and self._failed(chosen, now_ns) and not self._failed(other, now_ns):
            return None  # decided anew: the chosen one has failed since
        if chosen in usable:
            return Decision(chosen, other if entry & STORED_CLONED and other in usable else None)
        return Decision(other, None) if entry & STORED_CLONED else None

    # ---- failure detection ----

    def _failed(self, sid: int, now_ns: int) -> bool:
        since = self.health.get(sid, Health()).owing_since_ns
        return (
            bool(self.server_timeout_ns)
            and since is not None
            and (now_ns - since > self.server_timeout_ns)
        )

    def _probe_due(self, sid: int, now_ns: int) -> bool:
        health = self.health[sid]
        if health.probe_counted_from_ns is None:
            health.probe_counted_from_ns = now_ns  # first found failed
            return False
        if now_ns - health.probe_counted_from_ns <= self.server_timeout_ns:
            return False
        health.probe_counted_from_ns = now_ns
        return True

    def _owe(self, decision: Decision, now_ns: int) -> None:
        if self.server_timeout_ns:
            for sid in (decision.chosen, decision.other):
                if sid is not None:
                    health = self.health.setdefault(sid, Health())
                    health.owed += 1
                    if health.owing_since_ns is None:
                        health.owing_since_ns = now_ns

    # ---- forwarding cache ----

    @staticmethod
    def _fdb_slot(mac: int) -> int:
        return (mac ^ mac >> 12 ^ mac >> 24) % FDB_SLOTS

    def add_port(self, mac: int, port: int) -> None:
        self.fdb[self._fdb_slot(mac)] = (mac, port)

    def ports_of_macs(self) -> Iterator[tuple[int, int]]:
        yield from self.fdb.values()

    def _learn(self, port: int, packet: Packet) -> None:
        if not packet.tagged and port <= 0xFFFF:
            self.add_port(packet.source_mac, port)

    def _port_of(self, packet: Packet) -> int | None:
        if packet.tagged:
            return None
        mac, port = self.fdb.get(self._fdb_slot(packet.destination_mac), (0, 0))
        return port if mac == packet.destination_mac and port else None

    # ---- responses: lines 14 - 23 ----

    def _response(self, packet: Packet) -> Outcome:
        server = self.servers.get(packet.sid)
        if server is None or server.address(packet) != packet.source:
            raise Untouched("unknown_source")
        self.state[packet.sid] = packet.state  # lines 15 - 16
        self.health.pop(packet.sid, None)
        forwarded = self._forward(packet)
        if packet.clo == Clo.NONE or not packet.identified:
            return Outcome.of("ingress", "response_forwarded", forwarded)
        at = packet.idx, slot_of(packet.fingerprint, self.filter_slots_log2)  # lines 17 - 18
        if self.filter.get(at) == self._held(packet):  # lines 19 - 21
            del self.filter[at]
            return Outcome.of("ingress", "filtered_slower_response")
        self.filter[at] = self._held(packet)  # lines 22 - 23
        return Outcome.of("ingress", "response_first", forwarded)

    def _forward(self, packet: Packet) -> tuple[int, bytes]:
        """Unmodified, but for a checksum that the sender left to its device: a frame that
        is redirected loses the mark that says so."""
        port = self._port_of(packet)
        if port is None:
            return LINUX, bytes(packet.frame)
        partial = is_partial(packet)
        if not (partial and self.generic) and (partial or lacks_checksum(packet)):
            completed = packet.copy()
            complete(completed)
            return port, bytes(completed.frame)
        return port, bytes(packet.frame)
