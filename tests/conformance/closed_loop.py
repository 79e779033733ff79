# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A whole rack in a closed loop, on the library and on the oracle side by side.

Clients send requests of all kinds and send them again, the network delays, repeats, damages
and loses frames, servers answer with one packet or with many. So the tables reach
states that no drawn frame leads to. Each frame must leave both alike, and no first response
may ever stop at the switch.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from netclone_host.model.checksum import complete
from netclone_host.model.packet import MAX_GROUPS, Packet, Type, Untouched, parse
from tests.conformance.frames import C1, C2, Frame, Node, request, server
from tests.conformance.generated import choice_of, mutated
from tests.conformance.playing import Seen, Target, compare, normal
from tests.conformance.runners.native import Native
from tests.conformance.runners.oracle import Oracle
from tests.conformance.scenario import GENERATED, Scenario, Step
from tests.conformance.writing import LINUX, WIRE, Book

CLIENTS = (C1, C2)
FIRST = {"response_first_original", "response_first_clone"}
REQ_IDS = (0, 1, 2, 3, 0xFFFFFFFF)
OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {}, {}, {"racksched": True}, {"cloning": False}, {"reserve": True}, {"hold": True},
)  # fmt: skip


class Both:
    """A node on the library and on the oracle."""

    def __init__(self, scenario: Scenario) -> None:
        scenario.name = GENERATED
        self.scenario = scenario
        self.oracle, self.native = Oracle(), Native()
        self._targets: tuple[Target, Target] = (self.oracle, self.native)
        for target in self._targets:
            target.start(scenario)

    def feed(self, port: int, frame: bytes, at_ms: int, offloaded: bool = False) -> Seen:
        """What becomes of a frame, which must be the same on both."""
        step = Step(port, frame, [], {}, at_ms=at_ms, offloaded=offloaded)
        seen = self.native.feed(step)
        if self.scenario.role == "client":
            self.oracle.node.choose = lambda _: choice_of(step, seen, self.scenario)
        expected = self.oracle.feed(step)
        step.out, step.counters = expected.frames, expected.counters
        compare(f"{self.scenario.role}, frame {frame.hex()}", self.scenario, step, seen)
        return seen

    def close(self) -> None:
        theirs, ours = (target.tables() for target in self._targets)
        for name, table in theirs.items():
            assert normal(table) == normal(ours[name]), f"table {name} afterwards"
        assert self.native.node
        self.native.node.close()


@dataclass
class FirstResponses:
    """Of what was cloned: which responses have gone on since. A response may stop only behind
    another one for the same request and packet."""

    ports: list[int]
    tables: int
    gone_on: set[tuple[int, int, int]] = field(default_factory=set)
    """(request key, fingerprint, IDX)"""

    def note(self, frame: bytes, seen: Seen) -> None:
        counted = {name.removeprefix("ingress.") for name in seen.counters}
        if counted & {"cloned", "probed"}:
            asked = self._parsed(seen.frames[0][1])
            again = {key for key in self.gone_on if self._asks_again(asked, key)}
            self.gone_on -= again
        elif counted & {*FIRST, "filtered_slower_response"}:
            answer = self._parsed(frame)
            key = answer.request_key, answer.fingerprint, answer.idx
            if counted & FIRST:
                self.gone_on.add(key)
            else:
                assert key in self.gone_on, f"a first response stopped: {frame.hex()}"
                self.gone_on.remove(key)

    @staticmethod
    def _asks_again(asked: Packet, key: tuple[int, int, int]) -> bool:
        same = key[0] == asked.request_key
        return same and (asked.client_id_valid or key[1] == asked.fingerprint)

    def _parsed(self, frame: bytes) -> Packet:
        return parse(frame, self.ports, MAX_GROUPS, self.tables)


class Rack:
    """Frames under way are (where they arrive, frame): a port of the switch, or a host."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.now_ms = dice, 0
        self.n_servers = dice.choice((2, 3, 6))
        self.ports = dice.choice(([1000], [2000, 1000]))
        self.tables = dice.choice((1, 2, 16))
        both = {"ports": self.ports, "filter_tables": self.tables}
        options = dice.choice(OPTIONS)
        book = Book()
        self.switch = Both(
            book.switch(
                "switch",
                "",
                self.n_servers,
                **both,
                **options,
                switch_id=dice.choice((0, 0, 7)),
                generic=dice.random() < 0.2,
                server_timeout_ms=dice.choice((0, 0, 40)),
                filter_slots=dice.choice((1 << 17, 1 << 17, 2, 16)),
                sequence=dice.choice((0, 0xFFFFFFF0, (1 << 17) - 5)),
            )
        )
        reserve = {"reserve": True} if "reserve" in options else {}
        self.servers = [
            Both(book.server("", "", sid=sid, workers=dice.choice((1, 2, 15)), **both, **reserve))
            for sid in range(self.n_servers)
        ]
        n_groups = self.n_servers * (self.n_servers - 1)
        self.clients = [
            Both(book.client("", "", n_groups=n_groups, duplicate_window_ms=40, **both))
            for _ in CLIENTS
        ]
        self.hosts = {
            node.mac: server for node, server in zip(self._nodes(), self._all_hosts(), strict=True)
        }
        self.under_way: list[tuple[int | str, bytes]] = []
        self.sent: list[tuple[int, list[tuple[bytes, bool]]]] = []
        self.firsts = FirstResponses(self.ports, self.tables)
        self.counted: Counter[str] = Counter()

    def _nodes(self) -> list[Node]:
        return [*(server(sid) for sid in range(self.n_servers)), *CLIENTS]

    def _all_hosts(self) -> list[Both]:
        return [*self.servers, *self.clients]

    def close(self) -> None:
        for node in (self.switch, *self._all_hosts()):
            node.close()

    def turn(self) -> None:
        """One thing happens."""
        dice = self.dice
        if dice.random() < 0.1:
            self.now_ms += dice.choice((1, 5, 41, 100))
        chance = dice.random()
        if chance < 0.12 or not self.under_way:
            self._ask()
        elif chance < 0.17 and self.sent:
            number, frames = dice.choice(self.sent)
            self._leave(number, dice.sample(frames, dice.randint(1, len(frames))))
        else:
            self._arrive()

    def _ask(self) -> None:
        dice, number = self.dice, self.dice.randrange(len(CLIENTS))
        own_id = dice.random() < 0.5
        count = dice.choice((0, 1, 1, 2, 3)) if own_id or dice.random() < 0.2 else 0
        ask = request(
            src=CLIENTS[number],
            dst=server(dice.randrange(self.n_servers)),
            grp=0,
            flags=(2 if own_id else 0) | int(dice.random() < 0.1),
            req_id=dice.choice(REQ_IDS) if own_id else 0,
            client_id=number if own_id else 0,
            pkt_count=count,
            v6=dice.random() < 0.3,
            tcp=own_id and dice.random() < 0.3,
            dport=dice.choice(self.ports),
            payload=dice.randbytes(dice.randrange(30)),
            vlans=dice.choice(((), (), (), ((0x8100, 5),))),
            checksum=dice.choice(("full", "full", "full", "none", "partial", "wrong")),
        )
        frames = [self._with_mark(ask.but(pkt_index=index)) for index in range(max(count, 1))]
        dice.shuffle(frames)
        self.sent.append((number, frames))
        self._leave(number, frames)

    @staticmethod
    def _with_mark(frame: Frame) -> tuple[bytes, bool]:
        return frame.bytes(), frame.checksum == "partial"

    def _leave(self, number: int, frames: list[tuple[bytes, bool]]) -> None:
        for frame, offloaded in frames:
            seen = self.clients[number].feed(LINUX, frame, self.now_ms, offloaded)
            self.under_way += [(CLIENTS[number].port, out) for _, out in seen.frames]

    def _arrive(self) -> None:
        dice = self.dice
        at = dice.randrange(len(self.under_way)) if dice.random() < 0.7 else 0
        where, frame = self.under_way[at]
        if dice.random() > 0.08:  # else it comes once more
            del self.under_way[at]
        if dice.random() < 0.03:
            return
        if dice.random() < 0.03:
            frame = mutated(dice, frame)
        if isinstance(where, int):
            seen = self.switch.feed(where, frame, self.now_ms)
            self.firsts.note(frame, seen)
            self.counted.update(seen.counters)
            for _, out in seen.frames:
                if (mac := out[:6].hex(":")) in self.hosts:
                    self.under_way.append((mac, out))
        else:
            host = self.hosts[where]
            for _, out in host.feed(WIRE, frame, self.now_ms).frames:
                if host.scenario.role == "server":
                    self._answer(host, out)

    def _answer(self, host: Both, frame: bytes) -> None:
        """As an application does: the request's header with TYPE = RESP, in any number of
        packets, of which it sends some, or none."""
        dice, sid = self.dice, host.scenario.config["sid"]
        try:
            asked = parse(frame, self.ports, MAX_GROUPS, self.tables)
        except Untouched:
            return
        count = dice.choice((asked.pkt_count, 0, 1, 2, 3, 20))
        for index in range(max(count, 1)):
            if asked.type == Type.RESP or dice.random() < 0.1:
                continue
            answer = answer_to(asked, index if count > 1 else 0, count)
            for _, out in host.feed(LINUX, answer, self.now_ms).frames:
                self.under_way.append((server(sid).port, out))


def answer_to(asked: Packet, pkt_index: int, pkt_count: int) -> bytes:
    answer = asked.copy()
    size, at = (16, asked.ip + 8) if asked.ipv6 else (4, asked.ip + 12)
    for start, length in ((0, 6), (at, size), (asked.l4, 2)):
        _exchange(answer.frame, start, length)
    answer.type, answer.pkt_index, answer.pkt_count = Type.RESP, pkt_index, pkt_count
    complete(answer)
    return bytes(answer.frame)


def _exchange(frame: bytearray, start: int, length: int) -> None:
    """Source and destination, which lie side by side."""
    middle, end = start + length, start + 2 * length
    frame[start:end] = frame[middle:end] + frame[start:middle]
