# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Generated scenarios: random tables, random and mutated packets, sequences of 1 to 200.

Hypothesis draws the configuration, the tables and one number for each packet; the number
seeds the packet. So a failing sequence shrinks by leaving packets out. What must come of a
packet is the oracle's to say.
"""

from __future__ import annotations

import random
import struct
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from hypothesis import strategies as st

from netclone_host.model.checksum import fold, words
from netclone_host.model.packet import MAX_GROUPS, Untouched, parse
from netclone_host.topology import group_pairs
from netclone_host.wire import Header
from tests.conformance.frames import ANY, C1, C2, Node, server
from tests.conformance.playing import Seen, Target, compare, normal
from tests.conformance.runners.oracle import Oracle
from tests.conformance.scenario import GENERATED, Scenario, Step
from tests.conformance.writing import address, fingerprint, held, slot_of

LINUX, WIRE = 0, 1
REQ_IDS = (0, 1, 2, 3, 4, 7 + (1 << 17), 0xFFFFFFFF)
CLIENT_IDS = (0, 1, 0xFFFF)
QUEUES = (0, 0, 0, 1, 2, 0xFFFFFFFF)
PORTS = ([1000], [1000, 2000], [2000, 1000, 9])
BEYOND: tuple[dict[str, bool], ...] = (
    {}, {}, {}, {"cloning": False}, {"reserve": True}, {"hold": True},
)  # fmt: skip


# ---- configurations and tables ----

any_client = st.sampled_from((None, *CLIENT_IDS))
any_index = st.sampled_from((None, 0, 1, 2, 254))
any_count = st.sampled_from((0, 1, 2, 15, 16, 31, 63, (1 << 17) - 1, 1 << 17, (1 << 22) - 1))


@st.composite
def tables_of_requests(draw: st.DrawFn) -> tuple[list[list[Any]], list[list[int]]]:
    """Decisions for, and clonings of, requests that are under way."""
    requests, attempts = {}, {}
    some = st.lists(st.tuples(st.sampled_from(REQ_IDS), st.sampled_from(CLIENT_IDS)), max_size=8)
    for req_id, client_id in draw(some):
        slot = slot_of(fingerprint(req_id, client_id), log2=16)
        decision = draw(st.integers(0, 3)) << 59
        requests[slot] = f"{fingerprint(req_id, client_id) | decision:#x}"
        attempts[slot] = draw(any_count.filter(bool))
    return [list(entry) for entry in requests.items()], [list(e) for e in attempts.items()]


@st.composite
def switches(draw: st.DrawFn, timed: bool) -> Scenario:
    """timed: steps may lie apart, and servers may be taken for failed."""
    count = draw(st.integers(2, 6))
    ids = sorted(draw(st.sets(st.sampled_from(range(6)), min_size=count, max_size=count)))
    tables = draw(st.sampled_from((1, 2, 4)))
    groups = dict(enumerate(group_pairs(ids), start=1))
    servers = {sid: address(server(sid)) for sid in ids}
    for sid in draw(st.sets(st.sampled_from(ids), max_size=2)):
        servers[sid].update(draw(st.sampled_from(({"port": 0}, {"ip4": None}, {"ip6": None}))))
    for sid in draw(st.sets(st.sampled_from(ids), max_size=1)):
        del servers[sid]
    if draw(st.integers(0, 7)) == 0:  # another rack, behind a trunk
        for entry in servers.values():
            entry["port"] = entry["port"] and 1
    known = [server(sid) for sid in ids] + draw(st.sampled_from(([C1, C2], [C1], [])))
    log2 = draw(st.sampled_from((17, 17, 1, 4)))
    past = st.tuples(st.integers(0, tables - 1), st.sampled_from(REQ_IDS), any_client, any_index)
    entries = {
        (idx, slot): word
        for idx, slot, word in (
            held(*what, attempt=draw(any_count) if what[2] and what[3] else 0, log2=log2)
            for what in draw(st.lists(past, max_size=8))
        )
    }
    return Scenario(
        GENERATED,
        "",
        "switch",
        {
            "ports": draw(st.sampled_from(PORTS)),
            "n_groups": len(groups),
            "filter_tables": tables,
            "racksched": draw(st.booleans()),
            "generic": draw(st.booleans()),
            "switch_id": draw(st.sampled_from((0, 0, 5))),
            "server_timeout_ms": draw(st.sampled_from((0, 40 if timed else 60_000))),
            "filter_slots": 1 << log2,
            **draw(st.sampled_from(BEYOND)),
        },
        {
            "groups": {str(grp): list(pair) for grp, pair in groups.items()},
            "servers": {str(sid): entry for sid, entry in servers.items()},
            "fdb": {node.mac: node.port for node in known},
            "state": {str(sid): draw(st.sampled_from(QUEUES)) for sid in ids},
            "sequence": draw(st.sampled_from((0, 1, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 17))),
            "filter": [[*at, word] for at, word in entries.items()],
            **dict(zip(("requests", "attempts"), draw(tables_of_requests()), strict=True)),
            "owed": {},
        },
    )


@st.composite
def servers(draw: st.DrawFn, timed: bool) -> Scenario:
    source = draw(st.sampled_from(("inflight", "inflight", "app")))
    workers = draw(st.integers(0, 3))
    return Scenario(
        GENERATED,
        "",
        "server",
        {
            "ports": draw(st.sampled_from(PORTS)),
            "sid": draw(st.integers(0, 255)),
            "workers": workers,
            "filter_tables": draw(st.sampled_from((1, 2, 4))),
            "state_source": source,
            "request_timeout_ms": 40 if timed else 60_000,
            **draw(st.sampled_from(({}, {}, {"reserve": True}))),
        },
        {
            "in_flight": 0,
            "app_queue_length": draw(st.sampled_from((0, 1, 9))) if source == "app" else 0,
            "averages": {
                "busy": draw(st.sampled_from((0, 1, 2, 2))) * (workers << 15),
                "originals": draw(st.sampled_from((0, 1 << 15, 1 << 16, 1 << 16))),
            },
        },
    )


@st.composite
def clients(draw: st.DrawFn, timed: bool) -> Scenario:
    return Scenario(
        GENERATED,
        "",
        "client",
        {
            "ports": draw(st.sampled_from(PORTS)),
            "n_groups": draw(st.sampled_from((2, 6, 65280))),
            "filter_tables": draw(st.sampled_from((1, 2, 16))),
            "duplicate_window_ms": 40 if timed else 60_000,
        },
        {"answered": []},
    )


@st.composite
def scenarios(draw: st.DrawFn, role: str, timed: bool = True, longest: int = 200) -> Scenario:
    """A scenario without expectations: those are the oracle's."""
    worlds = {"switch": switches, "server": servers, "client": clients}
    scenario = draw(worlds[role](timed))
    count = draw(st.integers(1, longest))
    seeds = draw(st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count))
    now_ms = 0
    for seed in seeds:
        dice = random.Random(seed)
        if timed and dice.random() < 0.1:
            now_ms += dice.choice((1, 5, 39, 41, 100))
        port, frame = packet(dice, scenario)
        offloaded = role != "switch" and port == LINUX and dice.random() < 0.2
        if not offloaded and dice.random() < 0.25:
            frame = mutated(dice, frame)
        scenario.steps.append(Step(port, frame, [], {}, at_ms=now_ms, offloaded=offloaded))
    return scenario


# ---- packets ----


def packet(dice: random.Random, scenario: Scenario) -> tuple[int, bytes]:
    """(port, frame) of a packet that the node might really see."""
    client = dice.choice((C1, C1, C2))
    header = header_for(dice, scenario)
    is_response = header.type == 1
    if scenario.role == "switch":
        peer = server(header.sid if is_response and header.sid < 8 else dice.randrange(6))
        request_to = peer if header.flags & 1 or dice.random() < 0.3 else ANY
        port = peer.port if is_response else client.port
        src, dst = (peer, client) if is_response else (client, request_to)
    else:
        here_is_server = scenario.role == "server"
        port = LINUX if is_response == here_is_server else WIRE
        if dice.random() < 0.05:
            port = WIRE - port
        src, dst = (server(2), client) if is_response else (client, server(2))
    return port, built(dice, src, dst, header, is_response, [*scenario.config["ports"], 1000])


def header_for(dice: random.Random, scenario: Scenario) -> Header:
    groups = scenario.config.get("n_groups", MAX_GROUPS)
    with_client_id = dice.random() < 0.4
    count = dice.choice((0, 1, 1, 1, 2, 3, 255)) if with_client_id or dice.random() < 0.2 else 0
    kind = int(dice.random() < 0.5)
    blank = scenario.role == "client" and kind == 0 and dice.random() < 0.6
    sids = [int(sid) for sid in scenario.before.get("servers", {"2": 0})]
    return Header(
        switch_id=dice.choice((0, 0, 0, scenario.config.get("switch_id", 0), 5, 6)),
        flags=(2 if with_client_id else 0) | int(dice.random() < 0.1) | dice.choice((0, 0, 0x80)),
        type=kind,
        req_id=dice.choice(REQ_IDS),
        grp=0 if blank else dice.randint(1, min(groups, 40)),
        sid=dice.choice(sids) if sids else 0,
        state=dice.choice(QUEUES),
        pkt_index=dice.randrange(max(count, 1)),
        pkt_count=count,
        reserved0=dice.choice((0, 0, 0xA5)),
        clo=dice.choice((0, 1, 2)) if kind or scenario.role == "server" else 0,
        client_id=dice.choice(CLIENT_IDS) if with_client_id else dice.choice((0, 3)),
        idx=dice.randrange(scenario.config["filter_tables"]),
    )


def built(
    dice: random.Random,
    src: Node,
    dst: Node,
    header: Header,
    is_response: bool,
    ports: list[int],
) -> bytes:
    """Ethernet, tags, IP, UDP or TCP, header, payload; the checksum full, partial, or off."""
    v6, tcp = dice.random() < 0.3, bool(header.flags & 2) and dice.random() < 0.2
    port = dice.choice(ports)
    sport, dport = (port, 40000 + dice.randrange(2)) if is_response else (40000, port)
    body = header.encode() + dice.randbytes(dice.choice((0, 1, 2, 7, 40)))
    protocol = 6 if tcp else 17
    if tcp:
        l4 = struct.pack("!HHIIBBHHH", sport, dport, 1, 1, 0x50, 0x18, 512, 0, 0) + body
    else:
        l4 = struct.pack("!HHHH", sport, dport, 8 + len(body), 0) + body
    source, destination = addresses(src, v6), addresses(dst, v6)
    pseudo = source + destination + struct.pack("!II", protocol, len(l4))
    l4 = with_checksum(dice, l4, pseudo, 16 if tcp else 6)
    tags = dice.choice((b"", b"", b"", b"\x81\x00\x00\x05", b"\x88\xa8\x00\x07\x81\x00\x00\x05"))
    if v6:
        ip = struct.pack("!IHBB", 6 << 28, len(l4), protocol, 64) + source + destination
    else:
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(l4), 7, 0, 64, protocol, 0)
        ip += source + destination
        check = fold(sum(words(ip))) ^ 0xFFFF
        ip = ip[:10] + check.to_bytes(2, "big") + ip[12:]
    macs = bytes.fromhex((dst.mac + src.mac).replace(":", ""))
    padding = b"\xee" * dice.choice((0, 0, 0, 5))
    return macs + tags + (b"\x86\xdd" if v6 else b"\x08\x00") + ip + l4 + padding


def addresses(node: Node, v6: bool) -> bytes:
    return IPv6Address(node.ip6).packed if v6 else IPv4Address(node.ip4).packed


def with_checksum(dice: random.Random, l4: bytes, pseudo: bytes, at: int) -> bytes:
    full = fold(sum(words(pseudo + l4))) ^ 0xFFFF
    value = dice.choice((full, full, full, fold(sum(words(pseudo))), 0, 0xFFFF))
    if value == 0 and full == 0 and at == 6:
        value = 0xFFFF
    return l4[:at] + value.to_bytes(2, "big") + l4[at + 2 :]


def mutated(dice: random.Random, frame: bytes) -> bytes:
    """A damaged frame."""
    changed = bytearray(frame)
    match dice.randrange(4):
        case 0:  # a byte of the headers
            changed[dice.randrange(min(len(changed), 110))] = dice.choice((0, 1, 2, 0x7F, 0xFF))
        case 1:  # a bit anywhere
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        case 2:  # cut short
            del changed[dice.randrange(14, len(changed)) :]
        case 3:  # several bytes of the NetClone header
            for _ in range(3):
                at = dice.randrange(min(42, len(changed) - 1), min(len(changed), 70))
                changed[at] = dice.choice((0, 1, 2, 3, 0xFF))
    return bytes(changed)


# ---- checking ----


def check(target: Target, scenario: Scenario) -> None:
    """Target and oracle see the same frames; every byte, counter and table must agree."""
    oracle = Oracle()
    oracle.start(scenario)
    target.start(scenario)
    for number, step in enumerate(scenario.steps, start=1):
        seen = target.feed(step)
        if scenario.role == "client":
            oracle.node.choose = lambda _, step=step, seen=seen: choice_of(step, seen, scenario)
        expected = oracle.feed(step)
        step.out, step.counters = expected.frames, expected.counters
        compare(f"step {number} of {len(scenario.steps)}", scenario, step, seen)
    theirs, ours = target.tables(), oracle.tables()
    for name in theirs:
        assert normal(theirs[name]) == normal(ours[name]), (
            f"table {name} afterwards: {theirs[name]}, not {ours[name]}"
        )


def choice_of(step: Step, seen: Seen, scenario: Scenario) -> tuple[int, int]:
    """GRP and IDX that the target put into a blank request, which must be in range."""
    try:
        came = parse(step.frame, scenario.config["ports"], MAX_GROUPS, 256, blank_allowed=True)
    except Untouched as untouched:
        raise AssertionError("the target stamped no NetClone packet") from untouched
    assert len(seen.frames) == 1, "a request went missing"
    came.frame[:] = seen.frames[0][1]
    assert 1 <= came.grp <= scenario.config["n_groups"]
    assert came.idx < scenario.config["filter_tables"]
    return came.grp, came.idx


__all__ = ["check", "fingerprint", "scenarios"]
