# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The switch: Algorithm 1 of the paper, its lines cited where they are done, and the places where
the extensions change it (sections 3.4 - 3.7)."""

from __future__ import annotations

from dataclasses import dataclass, field

from netclone_host.model.checksum import (
    complete,
    has_none,
    is_correct,
    is_partial,
    lacks_checksum,
    seal,
)
from netclone_host.model.extensions import racksched, reserve
from netclone_host.model.extensions.clone_cap import CloneCap
from netclone_host.model.extensions.health import HealthTable
from netclone_host.model.extensions.multi_packet import ClonedRequestTable
from netclone_host.model.extensions.retransmission import Attempts
from netclone_host.model.extensions.state_age import StateAges
from netclone_host.model.forwarding import ForwardingCache
from netclone_host.model.outcome import LINUX, Outcome
from netclone_host.model.packet import Clo, Flags, Packet, Type, Untouched, parse, slot_of

OUT_OF_RANGE = ("bad_group", "bad_sid", "bad_idx")


@dataclass(frozen=True)
class Server:
    """An entry of AddrT. port 0: not resolved; an address of None: none of that version."""

    port: int
    mac: bytes
    ip4: bytes | None = None
    ip6: bytes | None = None
    max_frame: int | None = None
    """Bytes that its port can send, Ethernet header included; None: not known."""

    def address(self, packet: Packet) -> bytes | None:
        return self.ip6 if packet.ipv6 else self.ip4


@dataclass(frozen=True)
class Decision:
    """Where a request goes: to the chosen server, and if cloned a clone to the other."""

    chosen: int
    clone_to: int | None = None
    probe: bool = False
    capped: bool = False

    @property
    def counter(self) -> str:
        if self.clone_to is None:
            return "clone_capped" if self.capped else "not_cloned"
        return "probed" if self.probe else "cloned"


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
    state_timeout_ns: int = 0  # a state that has not changed for so long is forgotten
    clone_share_max: int = 0  # in 1/65536 of the requests; 0: no cap
    secret: int = 0  # makes the hash of who asked unpredictable
    cloning: bool = True  # False: RackSched alone
    reserve: bool = False  # the reserve rule, docs/data-plane.md "Beyond the paper"
    hold: bool = False  # the control plane renumbers groups: no clones meanwhile
    groups: dict[int, tuple[int, int]] = field(default_factory=dict)  # GrpT
    servers: dict[int, Server] = field(default_factory=dict)  # AddrT
    state: dict[int, int] = field(default_factory=dict)  # StateT, ShadowT; default 0
    filter: dict[tuple[int, int], int] = field(default_factory=dict)  # FilterT: (IDX, slot)
    requests: ClonedRequestTable = field(default_factory=ClonedRequestTable)
    attempts: Attempts = field(default_factory=Attempts)
    cache: ForwardingCache = field(default_factory=ForwardingCache)
    sequence: int = 0  # the last REQ_ID
    client_ports: frozenset[int] = frozenset()  # where no server is, by the topology

    def __post_init__(self) -> None:
        self.health = HealthTable(self.server_timeout_ns)
        self.ages = StateAges(self.state_timeout_ns)
        self.cap = CloneCap(self.clone_share_max)

    def receive(self, port: int, frame: bytes, now_ns: int = 0) -> Outcome:
        """One frame that arrives on a port; every frame that leaves, and why."""
        try:
            packet = parse(
                frame, self.ports, self.n_groups, self.n_filter_tables, secret=self.secret
            )
            if self._is_foreign(packet):  # multi-rack, before [line 1]
                raise Untouched("foreign_switch")
            if packet.type == Type.REQ:
                return self._request(port, packet, now_ns)
            return self._response(port, packet)
        except Untouched as untouched:
            if untouched.reason in OUT_OF_RANGE and self._claims_to_be_cloned(frame):
                return Outcome.of("ingress", "already_cloned")
            return Outcome.of("ingress", untouched.reason, (LINUX, frame))

    def _is_foreign(self, packet: Packet) -> bool:
        return packet.switch_id not in (0, self.switch_id)

    def _claims_to_be_cloned(self, frame: bytes) -> bool:
        """A request with CLO set whose GRP, SID or IDX a server might take as in range."""
        packet = parse(frame, self.ports)
        return packet.type == Type.REQ and packet.clo != Clo.NONE and not self._is_foreign(packet)

    # ---- requests ----

    def _request(self, port: int, packet: Packet, now_ns: int) -> Outcome:
        if packet.clo != Clo.NONE:
            return Outcome.of("ingress", "already_cloned")  # clones are made here only
        if self._is_ambiguous(packet):
            raise Untouched("checksum_ambiguous")
        if packet.flags & Flags.NO_CLONE:
            return self._no_clone(port, packet)
        first, second = self.groups[packet.grp]  # [line 4]
        decision = self._decide(packet, first, second, now_ns)

        self.cache.learn(port, packet)
        self._note_sent(decision, now_ns)
        original = packet.copy()
        self._identify(original)
        if decision.clone_to is not None:
            original.clo = Clo.ORIGINAL  # [line 7]
            original.sid = decision.clone_to  # [line 8]
            self._forget_past_self(original)
        sent = self._send(packet, original, decision.chosen, is_partial(packet))
        if decision.clone_to is None:
            return Outcome.of("ingress", decision.counter, sent)
        outcome = Outcome.of("ingress", decision.counter, sent)
        return outcome.and_then(  # [line 9]
            "clone", "clone_sent", self._clone(original, decision.clone_to, now_ns)
        )

    def _clone(self, original: Packet, sid: int, now_ns: int) -> tuple[int, bytes]:
        """[lines 10-13]: what the paper does in a second pass through the pipeline. A failed
        server is not told that it may refuse: it may still count what was lost with it."""
        clone = original.copy()
        if not self.health.is_failed(sid, now_ns):
            clone.clo = Clo.CLONE  # [lines 11-12]
        still_partial = self.generic and is_partial(original)
        return self._send(original, clone, original.sid, still_partial)  # [line 13]

    def _identify(self, packet: Packet) -> None:
        """[lines 1-3]; an id that is the client's stays."""
        packet.switch_id = self.switch_id
        if not packet.client_id_valid:
            self.sequence = self.sequence % 0xFFFFFFFF + 1  # [line 2]; 0 means not assigned
            packet.req_id = self.sequence  # [line 3]

    def _send(self, before: Packet, after: Packet, sid: int, partial: bool) -> tuple[int, bytes]:
        """[line 5] for the original, [line 13] for the clone."""
        server = self.servers[sid]
        address = server.address(after)
        assert address is not None  # usable
        after.readdress(server.mac, address)
        seal(before, after, partial, self.generic)
        return server.port, bytes(after.frame)

    def _decide(self, packet: Packet, first: int, second: int, now_ns: int) -> Decision:
        """Who gets the request: what stands for its message, or a fresh decision."""
        usable = [sid for sid in (first, second) if self._is_usable(sid, packet)]
        if not usable:
            raise Untouched("unknown_port")
        usable = [sid for sid in usable if self._has_room_for(sid, packet)]
        if not usable:
            raise Untouched("too_long")
        decision = self._recall(packet, first, second, usable, now_ns)
        if decision is None:
            decision = self._decide_now(packet, usable, now_ns)
            if packet.multi_packet and packet.client_id_valid:
                self.requests.remember(
                    packet, decision.clone_to is not None, decision.chosen == second
                )
        return Decision(decision.chosen) if self.hold else decision

    def _decide_now(self, packet: Packet, usable: list[int], now_ns: int) -> Decision:
        untied = packet.multi_packet and not packet.client_id_valid
        if len(usable) == 1 or untied:
            return Decision(usable[0])
        first, second = usable
        by_health = self._decide_by_health(first, second, now_ns)
        if by_health is not None:
            return by_health
        if self._is_first_passed_over(first, second):
            self.ages.pass_over(first, self.state, now_ns)
        return self._capped(self._decide_by_state(first, second))

    def _decide_by_state(self, first: int, second: int) -> Decision:
        if self.reserve:
            chosen, cloned = reserve.choose(first, second, self.state)
            return Decision(chosen, (second if chosen == first else first) if cloned else None)
        if self.cloning and self._are_idle(first, second):  # [line 6]
            return Decision(first, clone_to=second)
        if self.racksched or not self.cloning:
            return Decision(racksched.shorter(first, second, self.state))
        return Decision(first)

    def _is_first_passed_over(self, first: int, second: int) -> bool:
        """Its state is larger, and that is a reason not to ask it."""
        if not (self.reserve or self.racksched or not self.cloning):
            return False
        mask = reserve.LOAD_MASK if self.reserve else 0xFFFFFFFF
        return self.state.get(second, 0) & mask < self.state.get(first, 0) & mask

    def _capped(self, decision: Decision) -> Decision:
        wanted = decision.clone_to is not None
        if self.cap.allows(wanted) or not wanted:
            return decision
        return Decision(decision.chosen, capped=True)

    def _are_idle(self, first: int, second: int) -> bool:
        return self.state.get(first, 0) == 0 and self.state.get(second, 0) == 0

    def _decide_by_health(self, first: int, second: int, now_ns: int) -> Decision | None:
        failed = [sid for sid in (first, second) if self.health.is_failed(sid, now_ns)]
        if not failed:
            return None
        if len(failed) == 2:
            return Decision(first)
        living = second if failed[0] == first else first
        if self.health.is_probe_due(failed[0], now_ns):
            return Decision(living, failed[0], probe=True)
        return Decision(living)

    def _recall(
        self, packet: Packet, first: int, second: int, usable: list[int], now_ns: int
    ) -> Decision | None:
        recalled = self.requests.recall(packet)
        if recalled is None:
            return None
        cloned, second_chosen = recalled
        chosen, other = (second, first) if second_chosen else (first, second)
        if not cloned and len(usable) == 2 and self._has_failed_alone(chosen, other, now_ns):
            return None  # decided again: the chosen one has failed since
        if chosen in usable:
            return Decision(chosen, other if cloned and other in usable else None)
        return Decision(other) if cloned else None

    def _has_failed_alone(self, chosen: int, other: int, now_ns: int) -> bool:
        return self.health.is_failed(chosen, now_ns) and not self.health.is_failed(other, now_ns)

    def _note_sent(self, decision: Decision, now_ns: int) -> None:
        for sid in (decision.chosen, decision.clone_to):
            if sid is not None:
                self.health.note_sent(sid, now_ns)

    def _no_clone(self, port: int, packet: Packet) -> Outcome:
        out = self.cache.port_of(packet)
        if out is None:
            raise Untouched("unknown_port")
        self.cache.learn(port, packet)
        marked = packet.copy()
        self._identify(marked)
        seal(packet, marked, is_partial(packet), self.generic, addressed=False)
        return Outcome.of("ingress", "no_clone", (out, bytes(marked.frame)))

    def _is_usable(self, sid: int, packet: Packet) -> bool:
        server = self.servers.get(sid)
        return server is not None and server.port != 0 and server.address(packet) is not None

    def _is_ambiguous(self, packet: Packet) -> bool:
        return self.generic and not has_none(packet) and is_partial(packet) and is_correct(packet)

    def _has_room_for(self, sid: int, packet: Packet) -> bool:
        longest = self.servers[sid].max_frame
        return longest is None or packet.end <= longest

    # ---- responses ----

    def _response(self, port: int, packet: Packet) -> Outcome:
        server = self.servers.get(packet.sid)  # [line 14]
        if server is None or server.port != port or server.address(packet) != packet.source:
            if packet.clo != Clo.NONE and port in self.client_ports:
                return Outcome.of("ingress", "dropped_forged_response")
            raise Untouched("unknown_source")
        self.state[packet.sid] = packet.state  # [lines 15-16]
        self.health.note_heard(packet.sid)
        forwarded = self._forward(packet)
        if packet.clo == Clo.NONE or not packet.identified:  # [line 17]
            return Outcome.of("ingress", "response_forwarded", forwarded)
        slot = self._filter_slot(packet, packet.fingerprint)  # [line 18]
        if self.filter.get(slot) == self._held(packet):  # [line 19]
            del self.filter[slot]  # [line 20]
            return Outcome.of("ingress", "filtered_slower_response")  # [line 21]
        if packet.failed:  # the other one may be better
            return Outcome.of("ingress", "response_failed", forwarded)
        self.filter[slot] = self._held(packet)  # [lines 22-23]
        winner = "original" if packet.clo == Clo.ORIGINAL else "clone"
        return Outcome.of("ingress", f"response_first_{winner}", forwarded)

    def _filter_slot(self, packet: Packet, fingerprint: int) -> tuple[int, int]:
        return packet.idx, slot_of(fingerprint, self.filter_slots_log2)

    def _held(self, packet: Packet) -> int:
        return self.attempts.held(packet, self.filter_slots_log2)

    def _forget_past_self(self, packet: Packet) -> None:
        """An id that has come round again, or a retransmission: it may have been answered before,
        in full or in part, in any number of packets."""
        self._clear(packet, packet.fingerprint, self._held(packet))
        if packet.client_id_valid:
            self._clear(packet, packet.request_key, packet.request_key)
            self.attempts.count(packet)

    def _clear(self, packet: Packet, fingerprint: int, held: int) -> None:
        slot = self._filter_slot(packet, fingerprint)
        if self.filter.get(slot) == held:
            del self.filter[slot]

    def _forward(self, packet: Packet) -> tuple[int, bytes]:
        """Unmodified, but for a checksum that the sender left to its device: a frame that
        is redirected loses the mark that says so."""
        port = self.cache.port_of(packet)
        if port is None:
            return LINUX, bytes(packet.frame)
        partial = is_partial(packet)
        if not (partial and self.generic) and (partial or lacks_checksum(packet)):
            completed = packet.copy()
            complete(completed)
            return port, bytes(completed.frame)
        return port, bytes(packet.frame)
