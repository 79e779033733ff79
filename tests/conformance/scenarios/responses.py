# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Responses at the switch: Algorithm 1, lines 14 - 23, and sections 3.5, 3.6."""

from dataclasses import replace

from tests.conformance.frames import ANY, C2, request, response, server
from tests.conformance.writing import LINUX, Book, held

S0, S1 = server(0), server(1)


def write(book: Book) -> None:
    state_tracking(book)
    filtering(book)
    tables(book)
    sources(book)
    forwarding(book)
    round_trips(book)


def state_tracking(book: Book) -> None:
    for queue in (0, 1, 15, 0x7FFFFFFF, 0xFFFFFFFF):
        answer = response(1, state=queue, req_id=9)
        book.switch(
            f"state-{queue:x}", "lines 15-16: StateT[SID] = STATE", state={"0": 4, "1": 4, "2": 4}
        ).send(2, answer, (7, answer), counts="response_forwarded").leaves(
            state={"0": 4, "1": queue, "2": 4}
        )
    slow = response(0, state=2, req_id=5, clo=1)
    book.switch(
        "state-updated-by-slower-response",
        "the slower response is dropped, its STATE counts",
        filter=[held(0, 5)],
    ).send(1, slow, counts="filtered_slower_response").leaves(
        state={"0": 2, "1": 0, "2": 0}, filter=[]
    )
    busy, ask = response(0, state=1, req_id=5), request()
    book.switch("state-decides-the-next-request", "the state is that of the last response").send(
        1, busy, (7, busy), counts="response_forwarded"
    ).send(7, ask, (1, ask.to(S0, req_id=1)), counts="not_cloned").leaves(
        state={"0": 1, "1": 0, "2": 0}, sequence=1
    )
    idle = response(0, state=0, req_id=5)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch(
        "state-idle-again",
        "an idle response makes cloning possible again",
        state={"0": 3, "1": 0, "2": 0},
    ).send(1, idle, (7, idle), counts="response_forwarded").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(state={"0": 0, "1": 0, "2": 0}, sequence=1)


def filtering(book: Book) -> None:
    first = response(0, req_id=7, clo=1, idx=1)
    slow = response(1, req_id=7, clo=2, idx=1)
    book.switch("first-response-original", "figure 6(a): 7 goes into its slot, table 1").send(
        1, first, (7, first), counts="response_first"
    ).leaves(filter=[held(1, 7)])
    book.switch("first-response-clone", "the clone may be the faster one").send(
        2, slow, (7, slow), counts="response_first"
    ).leaves(filter=[held(1, 7)])
    book.switch(
        "slower-response", "figure 6(b): found, cleared, dropped", filter=[held(1, 7)]
    ).send(2, slow, counts="filtered_slower_response").leaves(filter=[])
    book.switch("first-then-slower", "lines 17-23: one of the pair goes on").send(
        1, first, (7, first), counts="response_first"
    ).send(2, slow, counts="filtered_slower_response")
    book.switch("clone-then-original", "whichever comes first goes on").send(
        2, slow, (7, slow), counts="response_first"
    ).send(1, first, counts="filtered_slower_response")
    book.switch(
        "third-copy-goes-on", "the slot is clear again: a first response is never lost"
    ).send(1, first, (7, first), counts="response_first").send(
        2, slow, counts="filtered_slower_response"
    ).send(2, slow, (7, slow), counts="response_first").leaves(filter=[held(1, 7)])
    plain = response(0, req_id=7, clo=0, idx=1)
    book.switch(
        "not-cloned-not-filtered", "line 17: CLO 0 never meets the filter", filter=[held(1, 7)]
    ).send(1, plain, (7, plain), counts="response_forwarded")
    blank = response(0, req_id=0, clo=1)
    book.switch("unidentified-not-filtered", "REQ_ID 0 is no id").send(
        1, blank, (7, blank), counts="response_forwarded"
    ).send(
        2,
        response(1, req_id=0, clo=2),
        (7, response(1, req_id=0, clo=2)),
        counts="response_forwarded",
    )
    one, two = response(0, req_id=7, clo=1), response(0, req_id=8, clo=1)
    book.switch("two-ids-two-slots", "consecutive ids do not collide").send(
        1, one, (7, one), counts="response_first"
    ).send(1, two, (7, two), counts="response_first").leaves(filter=[held(0, 7), held(0, 8)])
    far = response(0, req_id=7 + (1 << 17), clo=1)
    book.switch(
        "overwrite-on-collision", "a collision overwrites, never drops", filter=[held(0, 7)]
    ).send(1, far, (7, far), counts="response_first").leaves(filter=[held(0, 7 + (1 << 17))])
    late = response(1, req_id=7, clo=2)
    book.switch(
        "overwritten-slower-passes",
        "the overwritten one is not blocked, as in the paper",
        filter=[held(0, 7)],
    ).send(1, far, (7, far), counts="response_first").send(
        2, late, (7, late), counts="response_first"
    ).leaves(filter=[held(0, 7)])
    top = response(0, req_id=0xFFFFFFFF, clo=1)
    book.switch("highest-id", "REQ_ID 2^32-1 is an id").send(
        1, top, (7, top), counts="response_first"
    ).send(2, response(1, req_id=0xFFFFFFFF, clo=2), counts="filtered_slower_response")


def tables(book: Book) -> None:
    far = 7 + (1 << 17)
    one, two = response(0, req_id=7, clo=1, idx=0), response(0, req_id=far, clo=1, idx=1)
    book.switch("tables-do-not-collide", "figure 6(c): same slot, other table").send(
        1, one, (7, one), counts="response_first"
    ).send(1, two, (7, two), counts="response_first").leaves(
        filter=[held(0, 7), held(1, far)]
    ).send(2, response(1, req_id=7, clo=2, idx=0), counts="filtered_slower_response").leaves(
        filter=[held(1, far)]
    )
    crossed = response(1, req_id=7, clo=2, idx=1)
    book.switch(
        "tables-same-id-other-table",
        "IDX belongs to the identity of the entry",
        filter=[held(0, 7)],
    ).send(2, crossed, (7, crossed), counts="response_first").leaves(
        filter=[held(0, 7), held(1, 7)]
    )
    for count in (1, 4, 16):
        last = response(0, req_id=3, clo=1, idx=count - 1)
        book.switch(f"tables-last-of-{count}", "IDX in 0 .. tables - 1", filter_tables=count).send(
            1, last, (7, last), counts="response_first"
        ).leaves(filter=[held(count - 1, 3)])
        book.switch(
            f"tables-idx-{count}-of-{count}", "IDX out of range", filter_tables=count
        ).passes(1, response(0, req_id=3, clo=1, idx=count), "bad_idx")


def sources(book: Book) -> None:
    """A response whose source is not the server that its SID names changes no state."""
    why = "rule 1: the source must be the server that SID names"
    forged = response(0, req_id=5, clo=1, state=9).but(sid=1)
    book.switch("source-of-another-server", why).passes(1, forged, "unknown_source")
    stranger = response(0, req_id=5, clo=1, state=9).but(src=C2)
    book.switch("source-not-a-server", why).passes(8, stranger, "unknown_source")
    gone = response(5, req_id=5, clo=1, state=9)
    book.switch("source-server-gone", why).passes(6, gone, "unknown_source")
    book.switch("source-sid-256", "SID out of range").passes(
        1, response(0, req_id=5, clo=1).but(sid=256), "bad_sid"
    )
    book.switch("source-sid-huge", "SID out of range").passes(
        1, response(0, req_id=5, clo=1).but(sid=0x01000000), "bad_sid"
    )
    v6 = response(1, req_id=5, clo=2, v6=True, state=3)
    book.switch("source-ipv6", "the address of the packet's own IP version counts").send(
        2, v6, (7, v6), counts="response_first"
    ).leaves(state={"0": 0, "1": 3, "2": 0}, filter=[held(0, 5)])
    forged6 = response(0, req_id=5, clo=1, v6=True).but(sid=1)
    book.switch("source-ipv6-of-another", why).passes(1, forged6, "unknown_source")
    for word, nearly in enumerate(("fd01:1::65", "fd00:1:1::65", "fd00:1::1:0:65", "fd00:1::1:65")):
        frame = response(0, req_id=5, clo=1, v6=True).but(src=replace(S0, ip6=nearly))
        book.switch(f"source-ipv6-word-{word}", "all 128 bits of the source address count").passes(
            1, frame, "unknown_source"
        )
    unspecified = replace(S0, ip6="::")
    without = response(0, req_id=5, clo=1, v6=True).but(src=unspecified)
    scenario = book.switch("source-unspecified", "a server without IPv6 address has none, not ::")
    scenario.before["servers"]["0"]["ip6"] = None
    scenario.passes(1, without, "unknown_source")
    other_port = response(1, req_id=5, clo=2)
    book.switch("source-through-another-port", "the port counts as well as the address").passes(
        5, other_port, "unknown_source"
    )


def same_cache_slot(mac: str) -> str:
    """Another address that falls on the same slot of the forwarding cache."""
    return (int(mac.replace(":", ""), 16) ^ 0x1001).to_bytes(6, "big").hex(":")


def forwarding(book: Book) -> None:
    to_c2 = response(0, to=C2, req_id=5)
    book.switch("forward-to-second-client", "by the destination's MAC").send(
        1, to_c2, (8, to_c2), counts="response_forwarded"
    )
    lost = response(0, to=ANY, req_id=5, clo=1)
    book.switch(
        "forward-unknown-mac", "unknown destination: Linux forwards it; it is filtered"
    ).send(1, lost, (LINUX, lost), counts="response_first").leaves(filter=[held(0, 5)]).send(
        2, response(1, to=ANY, req_id=5, clo=2), counts="filtered_slower_response"
    ).leaves(filter=[])
    tagged = response(0, req_id=5, clo=1, vlans=((0x8100, 3),))
    book.switch("forward-vlan-by-linux", "tagged frames are not looked up").send(
        1, tagged, (LINUX, tagged), counts="response_first"
    ).leaves(filter=[held(0, 5)])
    broken = response(0, req_id=5, checksum="wrong")
    book.switch("forward-never-modified", "a response keeps even a wrong checksum").send(
        1, broken, (7, broken), counts="response_forwarded"
    )
    to_server = response(0, to=S1, req_id=5)
    book.switch("forward-to-a-server", "servers are in the cache from the start").send(
        1, to_server, (2, to_server), counts="response_forwarded"
    )
    table = book.switch("forward-cache-holds-other-mac", "an entry counts only for its own MAC")
    twin = same_cache_slot(C2.mac)
    del table.before["fdb"][C2.mac]
    table.before["fdb"][twin] = 5
    table.send(1, to_c2, (LINUX, to_c2), counts="response_forwarded")


def round_trips(book: Book) -> None:
    ask = request(idx=1)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    fast = response(1, req_id=1, clo=2, idx=1)
    slow = response(0, req_id=1, clo=1, idx=1)
    book.switch("round-trip-clone-wins", "figures 2 and 4: one request and both answers").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).send(2, fast, (7, fast), counts="response_first").send(
        1, slow, counts="filtered_slower_response"
    ).leaves(sequence=1)
    book.switch("round-trip-clone-dropped", "the server dropped the clone: one answer").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).send(1, slow, (7, slow), counts="response_first").leaves(sequence=1, filter=[held(1, 1)])
    many = book.switch("round-trip-twenty", "twenty requests, forty answers")
    for n in range(1, 21):
        first = ask.to(S0, req_id=n, clo=1, sid=1)
        many.send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    for n in range(1, 21):
        fast, slow = response(1, req_id=n, clo=2, idx=1), response(0, req_id=n, clo=1, idx=1)
        many.send(2, fast, (7, fast), counts="response_first")
        many.send(1, slow, counts="filtered_slower_response")
    many.leaves(sequence=20)
