# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Requests at the switch: Algorithm 1, lines 1 - 13."""

from tests.conformance.frames import C1, C2, request, server
from tests.conformance.writing import Book, address, fingerprint, held

S0, S1, S2 = server(0), server(1), server(2)


def write(book: Book) -> None:
    cloning(book)
    groups(book)
    sequence(book)
    not_cloned(book)
    addresses(book)
    past_self(book)


def cloning(book: Book) -> None:
    ask = request()
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("cloned-both-idle", "lines 6-13: both candidates idle").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)

    for v6 in (False, True):
        for vlans in ((), ((0x8100, 5),), ((0x88A8, 7), (0x8100, 5))):
            ask = request(v6=v6, vlans=vlans)
            first = ask.to(S0, req_id=1, clo=1, sid=1)
            name = f"cloned-ipv{6 if v6 else 4}-{len(vlans)}-vlan-tags"
            book.switch(name, "both copies keep VLAN tags, TTL, ports and payload").send(
                7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
            ).leaves(sequence=1)

    for length in (0, 1, 2, 63, 1400):
        ask = request(payload=bytes(range(256)) * 6)
        ask = ask.but(payload=ask.payload[:length])
        first = ask.to(S0, req_id=1, clo=1, sid=1)
        book.switch(f"cloned-payload-{length}", "payload of any length, odd ones too").send(
            7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
        ).leaves(sequence=1)

    ask = request(payload=b"", padding=b"\0" * 6)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("cloned-ethernet-padding", "a frame longer than its IP packet is padded").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)

    ask = request(flags=0xFC, reserved0=0xA5, reserved1=0x5A, state=77, idx=1)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("cloned-unknown-bits-preserved", "unknown FLAGS and reserved bytes stay").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)

    ask = request(sid=200)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("cloned-overwrites-sid", "line 8: SID becomes the second server").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)

    ask = request(ttl=1)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("cloned-ttl-untouched", "the switch is a bridge: TTL stays").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)

    one, two = request(), request(src=C2, grp=4, idx=1)
    first, other = one.to(S0, req_id=1, clo=1, sid=1), two.to(S2, req_id=2, clo=1, sid=0)
    book.switch("cloned-two-clients", "the sequence is the switch's, whoever asks").send(
        7, one, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).send(8, two, (3, other), (1, other.to(S0, clo=2)), counts="cloned").leaves(sequence=2)

    behind_one_port = {str(s): address(server(s), port=5) for s in range(3)}
    fdb = {**{server(s).mac: 5 for s in range(3)}, C1.mac: 7}
    first = request().to(S0, req_id=1, clo=1, sid=1)
    book.switch(
        "cloned-behind-one-port",
        "both servers behind one port: both copies leave it",
        servers=3,
        fdb=fdb,
    ).send(7, request(), (5, first), (5, first.to(S1, clo=2)), counts="cloned").leaves(sequence=1)
    book.scenarios[-1].before["servers"] = behind_one_port

    ask = request(src=C1)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("cloned-back-out-of-its-port", "a client behind the first server's port").send(
        1, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1, fdb={**book.scenarios[-1].before["fdb"], C1.mac: 1})


def groups(book: Book) -> None:
    pairs = {1: (0, 1), 2: (1, 0), 3: (0, 2), 4: (2, 0), 5: (1, 2), 6: (2, 1)}
    for grp, (a, b) in pairs.items():
        ask = request(grp=grp)
        first = ask.to(server(a), req_id=1, clo=1, sid=b)
        book.switch(f"group-{grp}-of-3-servers", "line 4: GrpT names the candidates").send(
            7, ask, (a + 1, first), (b + 1, first.to(server(b), clo=2)), counts="cloned"
        ).leaves(sequence=1)

    ask = request(grp=30)
    first = ask.to(server(5), req_id=1, clo=1, sid=4)
    book.switch("group-last-of-6-servers", "n(n-1) groups", servers=6).send(
        7, ask, (6, first), (5, first.to(server(4), clo=2)), counts="cloned"
    ).leaves(sequence=1)
    book.switch("group-above-range", "GRP > n(n-1)", servers=6).passes(
        7, request(grp=31), "bad_group"
    )
    ask = request(grp=2)
    first = ask.to(S1, req_id=1, clo=1, sid=0)
    book.switch("group-last-of-2-servers", "two servers, two groups", servers=2).send(
        7, ask, (2, first), (1, first.to(S0, clo=2)), counts="cloned"
    ).leaves(sequence=1)

    gap = {"0": address(S0), "5": address(server(5), port=2)}
    first = request().to(S0, req_id=1, clo=1, sid=5)
    book.switch(
        "group-with-gap-in-server-ids",
        "ids need not be consecutive: a server was removed and groups renumbered",
        servers=2,
        groups={"1": [0, 5], "2": [5, 0]},
    ).send(7, request(), (1, first), (2, first.to(server(5), clo=2)), counts="cloned").leaves(
        sequence=1
    )
    book.scenarios[-1].before.update(servers=gap, state={"0": 0, "5": 0})

    far = {"0": address(S0), "255": address(server(1), port=2)}
    first = request().to(S0, req_id=1, clo=1, sid=255)
    book.switch(
        "group-with-server-255",
        "the highest server id",
        servers=2,
        groups={"1": [0, 255], "2": [255, 0]},
    ).send(7, request(), (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(sequence=1)
    book.scenarios[-1].before.update(servers=far, state={"0": 0, "255": 0})


def sequence(book: Book) -> None:
    for start, expected in ((41, 42), (0xFFFF, 0x10000), (0xFFFFFFFE, 0xFFFFFFFF)):
        first = request().to(S0, req_id=expected, clo=1, sid=1)
        book.switch(f"sequence-after-{start:x}", "lines 2-3: the next number", sequence=start).send(
            7, request(), (1, first), (2, first.to(S1, clo=2)), counts="cloned"
        ).leaves(sequence=expected)
    first = request().to(S0, req_id=1, clo=1, sid=1)
    book.switch(
        "sequence-skips-zero", "REQ_ID 0 means not assigned: it is skipped", sequence=0xFFFFFFFF
    ).send(7, request(), (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(sequence=1)

    ask = request(req_id=0xDEADBEEF)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("sequence-overwrites-req-id", "the switch assigns the id, line 3").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)

    walk = book.switch(
        "sequence-of-five", "one id a request that goes out", state={"0": 1, "1": 0, "2": 0}
    )
    for n in range(1, 6):
        walk.send(7, request(), (1, request().to(S0, req_id=n)), counts="not_cloned")
    walk.leaves(sequence=5)

    first = request().to(S0, req_id=1, clo=1, sid=1)
    book.switch(
        "sequence-not-used-by-untouched", "an id is used up only by a request that goes out"
    ).passes(7, request(grp=7), "bad_group").drops(7, request(clo=1), "already_cloned").send(
        7, request(), (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)


def not_cloned(book: Book) -> None:
    for name, state in (
        ("first-busy", {"0": 1, "1": 0, "2": 0}),
        ("second-busy", {"0": 0, "1": 1, "2": 0}),
        ("both-busy", {"0": 3, "1": 2, "2": 0}),
        ("state-is-32-bits", {"0": 0, "1": 0x80000000, "2": 0}),
        ("state-low-byte-zero", {"0": 0x100, "1": 0, "2": 0}),
    ):
        book.switch(f"not-cloned-{name}", "line 6 fails: to the first candidate", state=state).send(
            7, request(), (1, request().to(S0, req_id=1)), counts="not_cloned"
        ).leaves(sequence=1)
    ask = request(sid=9)
    book.switch(
        "not-cloned-keeps-sid", "SID is written only on a clone", state={"0": 1, "1": 1, "2": 0}
    ).send(7, ask, (1, ask.to(S0, req_id=1)), counts="not_cloned").leaves(sequence=1)
    first = request(grp=5).to(S1, req_id=1, clo=1, sid=2)
    book.switch(
        "cloned-third-server-busy", "only the two candidates count", state={"0": 9, "1": 0, "2": 0}
    ).send(7, request(grp=5), (2, first), (3, first.to(S2, clo=2)), counts="cloned").leaves(
        sequence=1
    )
    for clo in (1, 2):
        book.switch(
            f"already-cloned-clo-{clo}", "clones are made inside the switch, never outside"
        ).drops(7, request(clo=clo, sid=1), "already_cloned")
    book.switch("already-cloned-clo-3", "CLO above 2").passes(7, request(clo=3), "bad_clo")


def addresses(book: Book) -> None:
    """Candidates that cannot be reached (rule 3)."""

    def rack(**changes: dict[str, object] | None) -> dict[str, object]:
        table = {str(sid): address(server(sid)) for sid in range(3)}
        for sid, change in changes.items():
            if change is None:
                del table[sid[1:]]
            else:
                table[sid[1:]].update(change)
        return table

    alone = "only one candidate is usable: it gets the request, not cloned"
    cases = {
        "first-gone": ({"s0": None}, False, 1, alone),
        "second-gone": ({"s1": None}, False, 0, alone),
        "first-port-unknown": ({"s0": {"port": 0}}, False, 1, alone),
        "second-port-unknown": ({"s1": {"port": 0}}, False, 0, alone),
        "first-without-ip4": ({"s0": {"ip4": None}}, False, 1, alone),
        "second-without-ip6": ({"s1": {"ip6": None}}, True, 0, alone),
        "first-without-ip6": ({"s0": {"ip6": None}}, True, 1, alone),
    }
    for name, (changes, v6, sid, why) in cases.items():
        ask = request(v6=v6)
        scenario = book.switch(f"usable-{name}", why)
        scenario.before["servers"] = rack(**changes)
        scenario.send(7, ask, (sid + 1, ask.to(server(sid), req_id=1)), counts="not_cloned").leaves(
            sequence=1
        )
    for name, changes, v6 in (
        ("both-gone", {"s0": None, "s1": None}, False),
        ("both-ports-unknown", {"s0": {"port": 0}, "s1": {"port": 0}}, False),
        ("no-ip6-at-all", {"s0": {"ip6": None}, "s1": {"ip6": None}}, True),
    ):
        scenario = book.switch(f"usable-{name}", "no candidate can be reached: untouched")
        scenario.before["servers"] = rack(**changes)
        scenario.passes(7, request(v6=v6), "unknown_port")
    ask = request()
    scenario = book.switch(
        "usable-only-second-although-busy",
        "the one that can be reached gets it, whatever its state",
        state={"0": 0, "1": 5, "2": 0},
    )
    scenario.before["servers"] = rack(s0=None)
    scenario.send(7, ask, (2, ask.to(S1, req_id=1)), counts="not_cloned").leaves(sequence=1)


def past_self(book: Book) -> None:
    """Rule 6: a wrapped sequence must not find its past self."""
    first = request(idx=1).to(S0, req_id=42, clo=1, sid=1)
    book.switch(
        "past-self-cleared",
        "a cloned request clears its own fingerprint",
        sequence=41,
        filter=[held(1, 42)],
    ).send(7, request(idx=1), (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(
        sequence=42, filter=[]
    )
    other = [1, 42, f"{fingerprint(42 + (1 << 17)):#x}"]
    book.switch(
        "past-self-other-in-slot",
        "another id in the slot stays",
        sequence=41,
        filter=[other],
    ).send(7, request(idx=1), (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(
        sequence=42
    )
    book.switch(
        "past-self-other-table",
        "only table IDX is looked at",
        sequence=41,
        filter=[held(0, 42)],
    ).send(7, request(idx=1), (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(
        sequence=42
    )
    book.switch(
        "past-self-not-cloned",
        "a request that is not cloned leaves the filter alone",
        sequence=41,
        filter=[held(0, 42)],
        state={"0": 1, "1": 0, "2": 0},
    ).send(7, request(), (1, request().to(S0, req_id=42)), counts="not_cloned").leaves(sequence=42)
