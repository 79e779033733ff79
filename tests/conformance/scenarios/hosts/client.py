# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A client: what it stamps, and which responses it delivers."""

from typing import Any

from tests.conformance.frames import C1, C2, request, response
from tests.conformance.writing import LINUX, WIRE, Book, answered_key, fingerprint, slot_of


def write(book: Book) -> None:
    requests(book)
    responses(book)
    untouched(book)


def requests(book: Book) -> None:
    for v6 in (False, True):
        for checksum in ("full", "wrong"):
            blank = request(grp=0, v6=v6, checksum=checksum)
            book.client(
                f"stamps-blank-ipv{6 if v6 else 4}-{checksum}",
                "a blank request gets a random group and table",
            ).send(
                LINUX, blank, (WIRE, blank.but(grp=1)), counts="egress.request_stamped", chosen=True
            )
    blank = request(grp=0, checksum="none")
    book.client("stamps-blank-no-checksum", "no checksum stays none").send(
        LINUX, blank, (WIRE, blank.but(grp=1)), counts="egress.request_stamped", chosen=True
    )
    for groups in (2, 65280):
        blank = request(grp=0)
        scenario = book.client(f"stamps-within-{groups}-groups", "1 .. n(n-1)", n_groups=groups)
        for _ in range(8):
            scenario.send(
                LINUX, blank, (WIRE, blank.but(grp=1)), counts="egress.request_stamped", chosen=True
            )
    chosen = request(grp=5, idx=1)
    book.client("passes-chosen-group", "GRP set: left alone").send(
        LINUX, chosen, (WIRE, chosen), counts="egress.request_passed"
    )
    write = request(grp=0, flags=1)
    book.client("stamps-write", "a write is stamped as well").send(
        LINUX, write, (WIRE, write.but(grp=1)), counts="egress.request_stamped", chosen=True
    )
    tagged = request(grp=0, vlans=((0x8100, 2),))
    book.client("stamps-vlan", "behind a VLAN tag").send(
        LINUX, tagged, (WIRE, tagged.but(grp=1)), counts="egress.request_stamped", chosen=True
    )
    tcp = request(grp=0, tcp=True, flags=2, client_id=1, req_id=5)
    book.client("stamps-tcp", "over TCP").send(
        LINUX, tcp, (WIRE, tcp.but(grp=1)), counts="egress.request_stamped", chosen=True
    )


def responses(book: Book) -> None:
    def entry(req_id: int, client_id: int | None = None) -> list[Any]:
        value = fingerprint(req_id, client_id)
        return [slot_of(value, log2=16), f"{answered_key(value):#x}"]

    first, second = response(0, req_id=9, clo=1), response(1, req_id=9, clo=2)
    book.client("delivers-first", "the first answer").send(
        WIRE, first, (LINUX, first), counts="response_delivered"
    ).leaves(answered=[entry(9)])
    book.client("drops-second", "the last line of defence against redundant answers").send(
        WIRE, first, (LINUX, first), counts="response_delivered"
    ).send(WIRE, second, counts="dropped_already_answered").send(
        WIRE, second, counts="dropped_already_answered"
    ).leaves(answered=[entry(9)])
    plain = response(0, req_id=9)
    book.client(
        "delivers-uncloned-twice", "of a request that was not cloned there is only one"
    ).send(WIRE, plain, (LINUX, plain), counts="response_delivered").send(
        WIRE, plain, (LINUX, plain), counts="response_delivered"
    )
    blank = response(0, req_id=0, clo=1)
    book.client("delivers-unidentified-twice", "REQ_ID 0 is no id").send(
        WIRE, blank, (LINUX, blank), counts="response_delivered"
    ).send(WIRE, blank, (LINUX, blank), counts="response_delivered")
    far = response(0, req_id=9 + (1 << 16), clo=1)
    book.client("collision-delivers", "another id on the slot overwrites, never drops").send(
        WIRE, first, (LINUX, first), counts="response_delivered"
    ).send(WIRE, far, (LINUX, far), counts="response_delivered").send(
        WIRE, second, (LINUX, second), counts="response_delivered"
    ).leaves(answered=[entry(9)])
    book.client(
        "duplicate-after-window",
        "a duplicate is recognised for the window only",
        duplicate_window_ms=200,
    ).send(WIRE, first, (LINUX, first), counts="response_delivered").send(
        WIRE, second, (LINUX, second), counts="response_delivered", at_ms=800
    ).leaves(answered=[entry(9)])
    mine = response(0, flags=2, client_id=7, req_id=9, clo=1)
    theirs = response(1, flags=2, client_id=8, req_id=9, clo=2)
    book.client("both-halves-of-the-id", "another CLIENT_ID is another request").send(
        WIRE, mine, (LINUX, mine), counts="response_delivered"
    ).send(WIRE, theirs, (LINUX, theirs), counts="response_delivered").leaves(
        answered=[entry(9, 7), entry(9, 8)]
    )
    again = request(flags=2, client_id=7, req_id=9, grp=3)
    book.client("retransmission-answered-again", "its entry is cleared when it leaves again").send(
        WIRE, mine, (LINUX, mine), counts="response_delivered"
    ).send(LINUX, again, (WIRE, again), counts="egress.request_passed").send(
        WIRE, mine, (LINUX, mine), counts="response_delivered"
    ).leaves(answered=[entry(9, 7)])
    other = request(flags=2, client_id=7, req_id=9 + (1 << 16), grp=3)
    book.client("retransmission-clears-only-its-own", "another id's entry stays").send(
        WIRE, mine, (LINUX, mine), counts="response_delivered"
    ).send(LINUX, other, (WIRE, other), counts="egress.request_passed").send(
        WIRE, mine, counts="dropped_already_answered"
    ).leaves(answered=[entry(9, 7)])
    parts = book.client("multi-packet-delivered", "the client puts such a message together")
    for index in (0, 1, 1):
        frame = response(0, flags=2, client_id=7, req_id=9, clo=1, pkt_index=index, pkt_count=2)
        parts.send(WIRE, frame, (LINUX, frame), counts="response_delivered")
    v6 = response(0, req_id=9, clo=1, v6=True)
    book.client("drops-second-ipv6", "over IPv6").send(
        WIRE, v6, (LINUX, v6), counts="response_delivered"
    ).send(WIRE, v6.but(clo=2), counts="dropped_already_answered").leaves(answered=[entry(9)])


def untouched(book: Book) -> None:
    ask = request(src=C2, dst=C1)
    book.client("request-at-ingress", "a client may be a server to others").send(
        WIRE, ask, (LINUX, ask), counts="ingress.other_direction"
    )
    out = response(0, to=C2).but(src=C1)
    book.client("response-at-egress", "a client may be a server to others").send(
        LINUX, out, (WIRE, out), counts="egress.other_direction"
    )
    for name, frame, counter in (
        ("response-grp-0", response(0, grp=0, req_id=1, clo=1), "bad_group"),
        ("response-grp-7", response(0, grp=7, req_id=1, clo=1), "bad_group"),
        ("response-sid-256", response(0, req_id=1, clo=1).but(sid=256), "bad_sid"),
        ("response-runt", response(0, req_id=1, clo=1).bytes()[:40], "runt"),
    ):
        book.client(name, "passes untouched").send(
            WIRE, frame, (LINUX, frame), counts=f"ingress.{counter}"
        )
    for name, frame, counter in (
        ("request-grp-7", request(grp=7), "bad_group"),
        ("request-idx-2", request(grp=0, idx=2), "bad_idx"),
        ("request-clo-3", request(grp=0, clo=3), "bad_clo"),
        ("response-out-grp-0", out.but(grp=0), "bad_group"),
    ):
        book.client(name, "passes untouched").send(
            LINUX, frame, (WIRE, frame), counts=f"egress.{counter}"
        )
