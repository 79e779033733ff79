# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the data plane believes, and of whom (docs/threat-model.md)."""

from dataclasses import replace
from typing import Any

from tests.conformance.frames import C1, C2, Node, mac_of, request, response, server
from tests.conformance.writing import (
    Book,
    Writing,
    address,
    asker,
    fingerprint,
    held,
    slot_of,
)

S0, S1, S2 = server(0), server(1), server(2)
HERE = server(2)
BROADCAST, GROUP = "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:fb"


def write(book: Book) -> None:
    clones_from_outside(book)
    forged_responses(book)
    forwarding_cache(book)
    who_asked(book)
    failed_responses(book)
    ages_of_states(book)
    recovered_servers(book)
    long_requests(book)
    clone_cap(book)


def clones_from_outside(book: Book) -> None:
    why = "clones are made in the switch only"
    for clo in (1, 2):
        for name, frame in (
            ("ipv6", request(clo=clo, v6=True)),
            ("vlan", request(clo=clo, vlans=((0x8100, 3),))),
            ("tcp", request(clo=clo, tcp=True, flags=2, client_id=3)),
            ("own-switch-id", request(clo=clo, switch_id=5)),
            ("group-out-of-range", request(clo=clo, grp=60000)),
            ("group-0", request(clo=clo, grp=0)),
            ("sid-out-of-range", request(clo=clo).but(sid=256)),
            ("idx-out-of-range", request(clo=clo, idx=2)),
        ):
            book.switch(f"outside-clo-{clo}-{name}", why, switch_id=5).drops(
                7, frame, "already_cloned"
            )
        book.switch(f"outside-clo-{clo}-foreign", "another ToR's clone", switch_id=5).passes(
            7, request(clo=clo, switch_id=6), "foreign_switch"
        ).passes(7, request(clo=clo, switch_id=6, grp=60000), "bad_group")
    for name, frame in (
        ("group-out-of-range", response(0, req_id=5, clo=1).but(grp=60000)),
        ("idx-out-of-range", response(0, req_id=5, clo=1).but(idx=2)),
    ):
        book.switch(f"outside-response-{name}", "only requests are dropped for CLO").passes(
            1, frame, "bad_group" if "group" in name else "bad_idx"
        )


def forged_responses(book: Book) -> None:
    why = "a response counts only from the address and the port of its server"
    clients: dict[str, Any] = {"client_ports": [7, 8]}
    forged = response(0, to=C2, req_id=5, clo=1, state=0xFFFFFFFF)
    for name, frame in (
        ("cloned", forged),
        ("ipv6", response(0, to=C2, req_id=5, clo=2, v6=True, state=9)),
        ("vlan", response(0, to=C2, req_id=5, clo=2, state=9, vlans=((0x8100, 9),))),
        ("unknown-server", response(0, to=C2, req_id=5, clo=1, state=9).but(sid=77)),
        ("own-address", forged.but(src=C1)),
        ("failed", forged.but(flags=4)),
    ):
        book.switch(f"forged-{name}", why, **clients).drops(7, frame, "dropped_forged_response")
    plain = response(0, to=C2, req_id=5, state=9)
    book.switch(
        "forged-not-cloned", "no filter is deceived: a host may serve others", **clients
    ).passes(7, plain, "unknown_source")
    book.switch("forged-by-a-server", "from another server's port", **clients).passes(
        2, forged, "unknown_source"
    )
    late = response(1, req_id=4, clo=1)
    scenario = book.switch("removed-server-is-no-client", "its late answer passes", **clients)
    del scenario.before["servers"]["1"]
    scenario.passes(2, late, "unknown_source")
    mine = response(0, req_id=5, clo=1, state=3)
    book.switch("genuine-response", "from its port: believed", **clients).send(
        1, mine, (7, mine), counts="response_first"
    ).leaves(state={"0": 3, "1": 0, "2": 0}, filter=[held(0, 5)])
    book.switch("forged-claimed-by-another", "a foreign SWITCH_ID is first", **clients).passes(
        7, forged.but(switch_id=9), "foreign_switch"
    )


def forwarding_cache(book: Book) -> None:
    fixed = {"fixed": [S0.mac, S1.mac, S2.mac, C1.mac]}
    ask = request(flags=1, dst=S2)

    def learned(scenario: Writing, source: Node) -> Writing:
        thief = replace(ask.src, mac=source.mac)
        frame = ask.but(src=thief)
        return scenario.send(8, frame, (3, frame.but(req_id=1)), counts="no_clone")

    for name, source in (("server", S2), ("client", C1)):
        learned(
            book.switch(
                f"cache-keeps-{name}", "an address of the topology is learned from no port", **fixed
            ),
            source,
        ).leaves(sequence=1)
    scenario = book.switch("cache-keeps-slot", "nor is another on its slot", **fixed)
    twin = replace(C1, mac=(int(C1.mac.replace(":", ""), 16) ^ 0x1001).to_bytes(6).hex(":"))
    learned(scenario, twin).leaves(sequence=1)
    group = replace(C2, mac="a1" + C2.mac[2:])
    learned(
        book.switch("cache-no-group-address", "a source is never a group", **fixed), group
    ).leaves(sequence=1)
    moved = book.switch("cache-learns-others", "a client that the topology does not name", **fixed)
    new = Node(5, mac_of(77), "10.0.1.77", "fd00:1::77")
    fdb = {**moved.before["fdb"], new.mac: 8}
    learned(moved, new).leaves(sequence=1, fdb=fdb)
    busy = {"0": 1, "1": 1, "2": 1}
    for at in range(48):
        if at == 40:
            continue  # the group bit
        mac = (int(C2.mac.replace(":", ""), 16) ^ 1 << at).to_bytes(6).hex(":")
        scenario = book.switch(f"cache-mac-bit-{at}", "all 48 bits count, in slot and entry")
        scenario.before["state"] = busy
        other = replace(C2, mac=mac)
        frame = request(src=other)
        kept = dict(scenario.before["fdb"])
        if at >= 36:
            del kept[C2.mac]  # the same slot: the last one stays
        after = {**kept, mac: 8}
        scenario.send(8, frame, (1, frame.to(S0, req_id=1)), counts="not_cloned").leaves(
            sequence=1, fdb=after
        )


def who_asked(book: Book) -> None:
    """Two clients may have chosen the same CLIENT_ID and REQ_ID."""
    given = {"flags": 2, "client_id": 4, "req_id": 70}
    mine, theirs = response(0, clo=1, **given), response(1, to=C2, clo=2, **given)
    mine_held, theirs_held = held(0, 70, 4), held(0, 70, 4, who=asker(C2))
    book.switch("same-client-id", "who asked is compared").send(
        1, mine, (7, mine), counts="response_first"
    ).send(2, theirs, (8, theirs), counts="response_first").leaves(filter=[mine_held, theirs_held])
    port = response(1, clo=2, **given).but(dport=40001)
    book.switch("same-client-id-other-port", "address and port").send(
        1, mine, (7, mine), counts="response_first"
    ).send(2, port, (7, port), counts="response_first").leaves(
        filter=[mine_held, held(0, 70, 4, who=asker(port=40001))]
    )
    v6 = response(0, clo=1, v6=True, **given)
    book.switch("same-client-id-ipv6", "all 128 bits").send(
        1, v6, (7, v6), counts="response_first"
    ).leaves(filter=[held(0, 70, 4, who=asker(v6=True))])
    book.switch("client-id-secret", "nobody outside can aim at a fingerprint", secret=0x1234).send(
        1, mine, (7, mine), counts="response_first"
    ).leaves(filter=[held(0, 70, 4, who=asker(secret=0x1234))])
    secret = (1 << 64) - 3
    book.switch("client-id-secret-64-bits", "all bits of the secret", secret=secret).send(
        1, v6, (7, v6), counts="response_first"
    ).leaves(filter=[held(0, 70, 4, who=asker(v6=True, secret=secret))])
    parts = request(pkt_count=2, **given), request(src=C2, pkt_count=2, **given)
    scenario = book.switch("same-client-id-messages", "each message has its own decision")
    entries = []
    for part, who in zip(parts, (asker(), asker(C2)), strict=True):
        first = part.to(S0, clo=1, sid=1)
        scenario.send(part.src.port, part, (1, first), (2, first.to(S1, clo=2)), counts="cloned")
        key = fingerprint(70, 4, who=who)
        entries.append((slot_of(key, 16), key))
    scenario.leaves(
        requests=[[slot, f"{key | 1 << 59:#x}"] for slot, key in entries],
        attempts=[[slot, 1] for slot, _ in entries],
    )


def failed_responses(book: Book) -> None:
    why = "FAILED: the other server may have a better answer"
    error, good = response(0, req_id=5, clo=1, flags=4), response(1, req_id=5, clo=2)
    book.switch("failed-is-not-first", why).send(
        1, error, (7, error), counts="response_failed"
    ).send(2, good, (7, good), counts="response_first").leaves(filter=[held(0, 5)])
    book.switch("failed-is-slower", "after a good answer it is the slower one").send(
        2, good, (7, good), counts="response_first"
    ).drops(1, error, "filtered_slower_response")
    book.switch("failed-both", "two failures: the client gets both").send(
        1, error, (7, error), counts="response_failed"
    ).send(
        2,
        good.but(flags=4),
        (7, good.but(flags=4)),
        counts="response_failed",
    )
    alone = response(0, req_id=5, flags=4, state=6)
    book.switch("failed-not-cloned", "not cloned: forwarded as ever, and its state counts").send(
        1, alone, (7, alone), counts="response_forwarded"
    ).leaves(state={"0": 6, "1": 0, "2": 0})
    ask = request(flags=4)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("failed-means-nothing-in-a-request", "FAILED is for responses").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)


def ages_of_states(book: Book) -> None:
    ask = request()
    for name, options in (
        ("racksched", {"racksched": True}),
        ("racksched-alone", {"racksched": True, "cloning": False}),
        ("reserve", {"reserve": True}),
    ):
        busy = (1 << 16) + 5 if name == "reserve" else 5
        idle = 1 << 31 | 3 if name == "reserve" else 3
        scenario = book.switch(
            f"state-ages-{name}",
            "a state that has not changed for the timeout is forgotten",
            state_timeout_ms=400,
            state={"0": busy, "1": idle, "2": 0},
            **options,
        )
        grows = 1 if name == "reserve" else 0
        for n in (1, 2):
            scenario.send(7, ask, (2, ask.to(S1, req_id=n)), counts="not_cloned")
        scenario.send(7, ask, (1, ask.to(S0, req_id=3)), counts="not_cloned", at_ms=800)
        scenario.leaves(sequence=3, state={"0": grows, "1": idle + 2 * grows, "2": 0})
    scenario = book.switch(
        "state-age-starts-again",
        "a state that changes is fresh",
        racksched=True,
        state_timeout_ms=400,
        state={"0": 5, "1": 3, "2": 0},
    )
    news = response(0, req_id=9, state=4)
    scenario.send(7, ask, (2, ask.to(S1, req_id=1)), counts="not_cloned")
    scenario.send(1, news, (7, news), counts="response_forwarded", at_ms=800)
    scenario.send(7, ask, (2, ask.to(S1, req_id=2)), counts="not_cloned", at_ms=800)
    scenario.leaves(sequence=2, state={"0": 4, "1": 3, "2": 0})
    scenario = book.switch(
        "state-forgotten-is-idle",
        "the forgotten state is 0: both idle, cloned",
        racksched=True,
        state_timeout_ms=400,
        state={"0": 5, "1": 0, "2": 0},
    )
    first = ask.to(S0, req_id=2, clo=1, sid=1)
    scenario.send(7, ask, (2, ask.to(S1, req_id=1)), counts="not_cloned")
    scenario.send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned", at_ms=800)
    scenario.leaves(sequence=2, state={"0": 0, "1": 0, "2": 0})
    scenario = book.switch(
        "state-does-not-age-without-timeout",
        "off by 0",
        racksched=True,
        state={"0": 5, "1": 3, "2": 0},
    )
    for n, at_ms in ((1, 0), (2, 800)):
        scenario.send(7, ask, (2, ask.to(S1, req_id=n)), counts="not_cloned", at_ms=at_ms)
    scenario.leaves(sequence=2)


def recovered_servers(book: Book) -> None:
    ask = request()
    scenario = book.switch(
        "failed-cannot-refuse-a-probe",
        "a failed server's clone keeps CLO 1: it may still count what was lost",
        server_timeout_ms=400,
        state={"0": 5, "1": 5, "2": 5},
    )
    other = request(grp=5)
    scenario.send(7, other, (2, other.to(S1, req_id=1)), counts="not_cloned")
    scenario.send(7, ask, (1, ask.to(S0, req_id=2)), counts="not_cloned", at_ms=600)
    probe = ask.to(S0, req_id=3, clo=1, sid=1)
    life = response(0, req_id=2, state=5)
    scenario.send(1, life, (7, life), counts="response_forwarded", at_ms=600)
    scenario.send(7, ask, (1, probe), (2, probe.to(S1)), counts="probed", at_ms=1200)
    back = response(1, req_id=3, clo=1, state=5)
    scenario.send(2, back, (7, back), counts="response_first", at_ms=1200)
    scenario.send(7, other, (2, other.to(S1, req_id=4)), counts="not_cloned", at_ms=1200)
    scenario.leaves(sequence=4, owed={"0": 1, "1": 1}, filter=[held(0, 3)])


def long_requests(book: Book) -> None:
    """A frame that a server's port cannot send."""

    def rack(name: str, why: str, first: int, second: int) -> Writing:
        scenario = book.switch(name, why)
        for sid, most in ((0, first), (1, second)):
            scenario.before["servers"][str(sid)] = address(server(sid), max_frame=most)
        return scenario

    ask = request(payload=bytes(400))
    size = len(ask.bytes())
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    rack("long-fits-both", "just fits", size, size).send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    rack("long-for-the-second", "no clone that the second's port cannot send", size, size - 1).send(
        7, ask, (1, ask.to(S0, req_id=1)), counts="not_cloned"
    ).leaves(sequence=1)
    rack("long-for-the-first", "no request depends on a clone alone", size - 1, size).send(
        7, ask, (2, ask.to(S1, req_id=1)), counts="not_cloned"
    ).leaves(sequence=1)
    rack("long-for-both", "Linux may fragment it, or say so", size - 1, size - 1).passes(
        7, ask, "too_long"
    )


def clone_cap(book: Book) -> None:
    ask = request()
    scenario = book.switch("cap-half", "half of the requests may be cloned", clone_share_max=32768)
    for n in range(1, 7):
        if n % 2:
            scenario.send(7, ask, (1, ask.to(S0, req_id=n)), counts="clone_capped")
        else:
            first = ask.to(S0, req_id=n, clo=1, sid=1)
            scenario.send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    scenario.leaves(sequence=6)
    scenario = book.switch(
        "cap-saved-up", "requests that are not cloned bring their share", clone_share_max=32768
    )
    busy = response(1, req_id=9, state=3)
    scenario.send(2, busy, (7, busy), counts="response_forwarded")
    for n in range(1, 5):
        scenario.send(7, ask, (1, ask.to(S0, req_id=n)), counts="not_cloned")
    scenario.send(2, busy.but(state=0), (7, busy.but(state=0)), counts="response_forwarded")
    for n in range(5, 8):
        first = ask.to(S0, req_id=n, clo=1, sid=1)
        scenario.send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    scenario.leaves(sequence=7)
