# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Words to write scenarios with: a rack, what it is sent, what it must send on."""

from __future__ import annotations

import socket
from itertools import combinations
from typing import Any

from tests.conformance.frames import C1, C2, Frame, Node, server
from tests.conformance.scenario import Scenario, Step

LINUX = 0
WIRE = 1

Packetish = Frame | bytes
Out = tuple[int, Packetish]


def raw(frame: Packetish) -> bytes:
    return frame if isinstance(frame, bytes) else frame.bytes()


def groups(servers: int) -> dict[str, list[int]]:
    """GRP of the ordered pair, docs/wire-format.md: the k-th pair owns 2k+1 and 2k+2."""
    table: dict[str, list[int]] = {}
    for k, (a, b) in enumerate(combinations(range(servers), 2)):
        table[str(2 * k + 1)], table[str(2 * k + 2)] = [a, b], [b, a]
    return table


def address(node: Node, **changes: Any) -> dict[str, Any]:
    return {"port": node.port, "mac": node.mac, "ip4": node.ip4, "ip6": node.ip6, **changes}


def slot_of(fingerprint: int, log2: int = 17) -> int:
    """The slot rule of docs/data-plane.md."""
    req_id, low = fingerprint & 0xFFFFFFFF, fingerprint >> 32 & 0xFFFF
    high = fingerprint >> 48 & 0xFF
    return (req_id ^ (high << 7) ^ (low << 11) ^ (low >> 6)) & ((1 << log2) - 1)


def mixed(x: int) -> int:
    x = x * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    x ^= x >> 32
    x = x * 0xD6E8FEB86659FD93 & 0xFFFFFFFFFFFFFFFF
    return x ^ x >> 29


def asker(node: Node = C1, port: int = 40000, v6: bool = False, secret: int = 0) -> int:
    """Who asked, in 24 bits (docs/data-plane.md, "Words")."""
    if not v6:
        words = [int.from_bytes(socket.inet_aton(node.ip4), "big")]
    else:
        packed = socket.inet_pton(socket.AF_INET6, node.ip6)
        words = [int.from_bytes(packed[:8], "big"), int.from_bytes(packed[8:], "big")]
    x = secret
    for word in [*words, port]:
        x = mixed(x ^ word)
    return x >> 40


def fingerprint(
    req_id: int,
    client_id: int | None = None,
    pkt_index: int | None = None,
    who: int | None = None,
) -> int:
    value = req_id | 1 << 56
    if client_id is not None:
        value |= 1 << 57
        value ^= client_id << 32 ^ (asker() if who is None else who) << 32
    if pkt_index is not None:
        value ^= pkt_index << 48 | 1 << 58
    return value


def answered_key(value: int) -> int:
    """What a client's answered table holds of a fingerprint beside the time."""
    if value >> 57 & 1:
        return mixed(value) >> 29
    return 1 << 35 | (value >> 58 & 1) << 24 | (value >> 48 & 0xFF) << 16 | value >> 16 & 0xFFFF


def held(
    idx: int,
    req_id: int,
    client_id: int | None = None,
    pkt_index: int | None = None,
    attempt: int = 0,
    log2: int = 17,
    who: int | None = None,
) -> list[Any]:
    """An entry of FilterT: table, slot, fingerprint. `attempt` lies over that of a packet of a
    longer response to a request with the client's id; tables of 2^log2 slots."""
    value = fingerprint(req_id, client_id, pkt_index, who)
    slot = slot_of(value, log2)
    over = attempt % (1 << log2) ^ (attempt >> log2) % 32 << 59
    return [idx, slot, f"{value ^ over:#x}"]


class Writing(Scenario):
    """A scenario being written: `send` appends a step, `leaves` says what changed."""

    def send(
        self,
        port: int,
        frame: Packetish,
        *out: Out,
        counts: str | dict[str, int],
        at_ms: int = 0,
        offloaded: bool = False,
        chosen: bool = False,
    ) -> Writing:
        """counts: "cloned" or "egress.request_stamped"; a clone sent is counted beside it."""
        counters = counts if isinstance(counts, dict) else self._counters(counts, frame)
        frames = [(where, raw(what)) for where, what in out]
        self.steps.append(
            Step(
                port, raw(frame), frames, counters, at_ms=at_ms, offloaded=offloaded, chosen=chosen
            )
        )
        return self

    @staticmethod
    def _counters(name: str, frame: Packetish) -> dict[str, int]:
        hook, _, counter = name.rpartition(".")
        if counter == "response_first":
            assert isinstance(frame, Frame)
            counter += "_original" if frame.header.clo == 1 else "_clone"
        counters = {f"{hook or 'ingress'}.{counter}": 1}
        if counter in ("cloned", "probed"):
            counters["clone.clone_sent"] = 1
        return counters

    def passes(self, port: int, frame: Packetish, counts: str) -> Writing:
        """Untouched, to Linux."""
        return self.send(port, frame, (LINUX, frame), counts=counts)

    def drops(self, port: int, frame: Packetish, counts: str) -> Writing:
        return self.send(port, frame, counts=counts)

    def leaves(self, **tables: Any) -> Writing:
        self.changes.update(tables)
        return self


class Book:
    """The scenarios of one file of the corpus."""

    def __init__(self) -> None:
        self.scenarios: list[Writing] = []

    def _add(self, name: str, why: str, role: str, config: Any, tables: Any) -> Writing:
        scenario = Writing(name, why, role, config, tables)
        self.scenarios.append(scenario)
        return scenario

    def switch(self, name: str, why: str, servers: int = 3, **given: Any) -> Writing:
        """A switch with servers 0 .. n-1 and both clients in its forwarding cache."""
        config = {
            "ports": given.pop("ports", [1000]),
            "n_groups": servers * (servers - 1),
            "filter_tables": given.pop("filter_tables", 2),
            "racksched": given.pop("racksched", False),
            "generic": given.pop("generic", False),
            "switch_id": given.pop("switch_id", 0),
            "server_timeout_ms": given.pop("server_timeout_ms", 0),
            **{
                key: given.pop(key)
                for key in (
                    "cloning",
                    "reserve",
                    "hold",
                    "filter_slots",
                    "state_timeout_ms",
                    "clone_share_max",
                    "secret",
                    "client_ports",
                    "fixed",
                )
                if key in given
            },
        }
        nodes = [server(sid) for sid in range(servers)]
        tables = {
            "groups": groups(servers),
            "servers": {str(sid): address(node) for sid, node in enumerate(nodes)},
            "fdb": {node.mac: node.port for node in [*nodes, C1, C2]},
            "state": {str(sid): 0 for sid in range(servers)},
            "sequence": 0,
            "filter": [],
            "requests": [],
            "owed": {},
            **given,
        }
        return self._add(name, why, "switch", config, tables)

    def server(self, name: str, why: str, **given: Any) -> Writing:
        config = {
            "ports": given.pop("ports", [1000]),
            "sid": given.pop("sid", 2),
            "workers": given.pop("workers", 1),
            "filter_tables": given.pop("filter_tables", 2),
            "state_source": given.pop("state_source", "inflight"),
            "request_timeout_ms": given.pop("request_timeout_ms", 60_000),
            **{key: given.pop(key) for key in ("reserve", "mac", "addresses") if key in given},
        }
        tables = {"in_flight": 0, "app_queue_length": 0, **given}
        return self._add(f"server-{name}", why, "server", config, tables)

    def client(self, name: str, why: str, **given: Any) -> Writing:
        config = {
            "ports": given.pop("ports", [1000]),
            "n_groups": given.pop("n_groups", 6),
            "filter_tables": given.pop("filter_tables", 2),
            "duplicate_window_ms": given.pop("duplicate_window_ms", 60_000),
            **{
                key: given.pop(key)
                for key in ("mac", "addresses", "switch_id", "secret")
                if key in given
            },
        }
        return self._add(f"client-{name}", why, "client", config, {"answered": [], **given})
