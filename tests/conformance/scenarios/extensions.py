# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Section 3.7: RackSched, several racks, writes, client-chosen ids and TCP."""

from tests.conformance.frames import ANY, C1, C2, request, response, server
from tests.conformance.writing import Book, held

S0, S1, S2 = server(0), server(1), server(2)


def write(book: Book) -> None:
    racksched(book)
    racks(book)
    writes(book)
    learning(book)
    client_ids(book)
    tcp(book)


def racksched(book: Book) -> None:
    why = "RackSched: the shorter queue, the first if equal"
    for first, second, chosen in (
        (3, 2, 1),
        (2, 3, 0),
        (2, 2, 0),
        (1, 0, 1),
        (0, 1, 0),
        (0xFFFFFFFF, 0xFFFFFFFE, 1),
        (0x80000000, 1, 1),
    ):
        book.switch(
            f"racksched-{first:x}-{second:x}",
            why,
            racksched=True,
            state={"0": first, "1": second, "2": 0},
        ).send(
            7,
            request(),
            (chosen + 1, request().to(server(chosen), req_id=1)),
            counts="not_cloned",
        ).leaves(sequence=1)
    first = request().to(S0, req_id=1, clo=1, sid=1)
    book.switch("racksched-both-empty", "both empty: clone as usual", racksched=True).send(
        7, request(), (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    ask = request(grp=2)
    book.switch(
        "racksched-reversed-pair",
        "equal queues: the first of the group, not of the ids",
        racksched=True,
        state={"0": 5, "1": 5, "2": 0},
    ).send(7, ask, (2, ask.to(S1, req_id=1)), counts="not_cloned").leaves(sequence=1)
    book.switch(
        "without-racksched-longer-queue",
        "without it the first candidate gets it",
        state={"0": 9, "1": 1, "2": 0},
    ).send(7, request(), (1, request().to(S0, req_id=1)), counts="not_cloned").leaves(sequence=1)


def racks(book: Book) -> None:
    first = request().to(S0, req_id=1, clo=1, sid=1, switch_id=5)
    book.switch("rack-claims-request", "the client's ToR writes its id", switch_id=5).send(
        7, request(), (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    book.switch(
        "rack-claims-uncloned",
        "claimed also when it is not cloned",
        switch_id=5,
        state={"0": 1, "1": 0, "2": 0},
    ).send(7, request(), (1, request().to(S0, req_id=1, switch_id=5)), counts="not_cloned").leaves(
        sequence=1
    )
    own = request(switch_id=5)
    first = own.to(S0, req_id=1, clo=1, sid=1)
    book.switch("rack-own-id", "its own id: it applies the logic", switch_id=5).send(
        7, own, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    foreign = "another ToR's packet is only forwarded"
    book.switch("rack-foreign-request", foreign, switch_id=5).passes(
        7, request(switch_id=6), "foreign_switch"
    )
    book.switch("rack-foreign-clone", foreign, switch_id=5).passes(
        7, request(switch_id=6, clo=2, sid=1), "foreign_switch"
    )
    book.switch("rack-foreign-response", foreign, switch_id=5, filter=[held(0, 3)]).passes(
        1, response(0, req_id=3, clo=1, state=8, switch_id=6), "foreign_switch"
    )
    mine = response(0, req_id=3, clo=1, switch_id=5)
    book.switch(
        "rack-own-response", "responses come back to the ToR that claimed", switch_id=5
    ).send(1, mine, (7, mine), counts="response_first").leaves(filter=[held(0, 3)])
    book.switch("rack-single-sees-claimed", "switch id 0: any other id is foreign").passes(
        7, request(switch_id=1), "foreign_switch"
    )
    high = request().to(S0, req_id=1, clo=1, sid=1, switch_id=0xFFFE)
    book.switch("rack-id-16-bits", "ids have 16 bits", switch_id=0xFFFE).send(
        7, request(), (1, high), (2, high.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    unclaimed = response(0, req_id=3, clo=1)
    book.switch("rack-unclaimed-response", "0 is anybody's", switch_id=5).send(
        1, unclaimed, (7, unclaimed), counts="response_first"
    ).leaves(filter=[held(0, 3)])


def writes(book: Book) -> None:
    why = "NO_CLONE: the destination is left alone"
    ask = request(flags=1, dst=S2)
    book.switch("write-to-its-server", why).send(
        7, ask, (3, ask.but(req_id=1)), counts="no_clone"
    ).leaves(sequence=1)
    book.switch("write-although-busy", why, state={"0": 0, "1": 0, "2": 7}).send(
        7, ask, (3, ask.but(req_id=1)), counts="no_clone"
    ).leaves(sequence=1)
    v6 = request(flags=1, dst=S1, v6=True)
    book.switch("write-ipv6", why).send(7, v6, (2, v6.but(req_id=1)), counts="no_clone").leaves(
        sequence=1
    )
    lost = request(flags=1, dst=ANY)
    book.switch("write-to-unknown", "no port known for its destination").passes(
        7, lost, "unknown_port"
    )
    tagged = request(flags=1, dst=S2, vlans=((0x8100, 4),))
    book.switch("write-vlan", "tagged frames are not looked up").passes(7, tagged, "unknown_port")
    claimed = request(flags=1, dst=S2)
    book.switch("write-claimed", "SWITCH_ID is written", switch_id=9).send(
        7, claimed, (3, claimed.but(req_id=1, switch_id=9)), counts="no_clone"
    ).leaves(sequence=1)
    with_id = request(flags=3, dst=S2, client_id=4, req_id=77)
    book.switch("write-client-id", "a client's id is left alone").send(
        7, with_id, (3, with_id), counts="no_clone"
    )
    answer = response(2, req_id=1, flags=1, state=6)
    book.switch("write-answer-updates-state", "the state is still updated by the response").send(
        3, answer, (7, answer), counts="response_forwarded"
    ).leaves(state={"0": 0, "1": 0, "2": 6})
    cloned = request(flags=1, dst=S2, clo=1)
    book.switch("write-already-cloned", "CLO set comes first").drops(7, cloned, "already_cloned")
    multi = request(flags=3, dst=S2, client_id=4, req_id=7, pkt_count=3, pkt_index=1)
    book.switch("write-multi-packet", "a packet of a long write: no decision is stored").send(
        7, multi, (3, multi), counts="no_clone"
    )
    to_client = request(flags=1, dst=C2)
    book.switch("write-to-a-client", "any destination the cache knows").send(
        7, to_client, (8, to_client.but(req_id=1)), counts="no_clone"
    ).leaves(sequence=1)
    self_addressed = request(flags=1, src=C1, dst=C1)
    table = book.switch("write-to-itself-not-yet-known", "looked up before it is learned")
    del table.before["fdb"][C1.mac]
    table.passes(7, self_addressed, "unknown_port")


def learning(book: Book) -> None:
    def without_c1(name: str, why: str, **given: object):  # type: ignore[no-untyped-def]
        scenario = book.switch(name, why, **given)
        del scenario.before["fdb"][C1.mac]
        return scenario

    first = request().to(S0, req_id=1, clo=1, sid=1)
    answer = response(0, req_id=1, clo=1)
    scenario = without_c1("learn-from-request", "the client's MAC and port are learned")
    known = {**scenario.before["fdb"], C1.mac: 7}
    scenario.send(7, request(), (1, first), (2, first.to(S1, clo=2)), counts="cloned").send(
        1, answer, (7, answer), counts="response_first"
    ).leaves(sequence=1, filter=[held(0, 1)], fdb=known)
    scenario = without_c1("learn-from-write", "also from a NO_CLONE request")
    ask = request(flags=1, dst=S2)
    scenario.send(7, ask, (3, ask.but(req_id=1)), counts="no_clone").leaves(sequence=1, fdb=known)
    scenario = without_c1("learn-moved-client", "the last port counts")
    scenario.before["fdb"][C1.mac] = 8
    scenario.send(7, request(), (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(
        sequence=1, fdb=known
    )
    without_c1("learn-not-from-untouched", "nothing is learned from what passes").passes(
        7, request(grp=0), "bad_group"
    ).drops(7, request(clo=1), "already_cloned").passes(7, request(flags=1), "unknown_port")
    tagged = request(vlans=((0x8100, 3),))
    first = tagged.to(S0, req_id=1, clo=1, sid=1)
    without_c1("learn-not-from-tagged", "tagged frames are not learned").send(
        7, tagged, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    from_response = response(0, req_id=3)
    scenario = book.switch("learn-not-from-response", "responses teach nothing")
    del scenario.before["fdb"][S0.mac]
    scenario.send(1, from_response, (7, from_response), counts="response_forwarded")


def client_ids(book: Book) -> None:
    ask = request(flags=2, client_id=0x1234, req_id=99)
    first = ask.to(S0, clo=1, sid=1)
    book.switch("client-id-left-alone", "the id is (CLIENT_ID, REQ_ID); no number is used").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    )
    zero = request(flags=2, client_id=0, req_id=0)
    first0 = zero.to(S0, clo=1, sid=1)
    book.switch("client-id-zero-zero", "(0, 0) is an id too").send(
        7, zero, (1, first0), (2, first0.to(S1, clo=2)), counts="cloned"
    ).send(
        1, response(0, flags=2, clo=1), (7, response(0, flags=2, clo=1)), counts="response_first"
    ).send(2, response(1, flags=2, clo=2), counts="filtered_slower_response")
    one = response(0, flags=2, client_id=0x1234, req_id=99, clo=1)
    two = response(1, flags=2, client_id=0x1235, req_id=99, clo=2)
    book.switch("client-id-both-halves", "another client's 99 is another request").send(
        1, one, (7, one), counts="response_first"
    ).send(2, two, (7, two), counts="response_first").leaves(
        filter=[held(0, 99, 0x1234), held(0, 99, 0x1235)]
    )
    without = response(1, client_id=0x1234, req_id=99, clo=2)
    book.switch("client-id-not-valid-ignored", "CLIENT_ID counts only with its flag").send(
        1, one, (7, one), counts="response_first"
    ).send(2, without, (7, without), counts="response_first").leaves(
        filter=[held(0, 99, 0x1234), held(0, 99)]
    )
    book.switch("client-id-pair", "original and copy answer to one id").send(
        1, one, (7, one), counts="response_first"
    ).send(
        2,
        response(1, flags=2, client_id=0x1234, req_id=99, clo=2),
        counts="filtered_slower_response",
    )
    book.switch(
        "client-id-retransmission",
        "it keeps the id and clears its past self",
        filter=[held(0, 99, 0x1234)],
    ).send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(filter=[])
    book.switch("client-id-retransmission-answered-again", "its first answer goes on").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).send(1, one, (7, one), counts="response_first").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).send(1, one, (7, one), counts="response_first").leaves(filter=[held(0, 99, 0x1234)])
    book.switch(
        "client-id-retransmission-not-cloned",
        "decided by the states of the moment",
        state={"0": 1, "1": 0, "2": 0},
        filter=[held(0, 99, 0x1234)],
    ).send(7, ask, (1, ask.to(S0)), counts="not_cloned")
    top = request(flags=2, client_id=0xFFFF, req_id=0xFFFFFFFF)
    first = top.to(S0, clo=1, sid=1)
    answer = response(0, flags=2, client_id=0xFFFF, req_id=0xFFFFFFFF, clo=1)
    book.switch("client-id-highest", "all 48 bits").send(
        7, top, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).send(1, answer, (7, answer), counts="response_first").leaves(
        filter=[held(0, 0xFFFFFFFF, 0xFFFF)]
    )


def tcp(book: Book) -> None:
    for v6 in (False, True):
        for name, flags, payload in (("syn", "S", b""), ("data", "PA", b"some request")):
            ask = request(
                tcp=True,
                v6=v6,
                flags=2,
                client_id=3,
                req_id=8,
                payload=payload,
                l4=(("flags", flags), ("seq", 12345)),
            )
            first = ask.to(S0, clo=1, sid=1)
            book.switch(
                f"tcp-{name}-ipv{6 if v6 else 4}", "the header rides on TCP, the handshake included"
            ).send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    options = request(
        tcp=True,
        flags=2,
        client_id=3,
        req_id=8,
        l4=(("flags", "S"), ("options", [("MSS", 1460), ("NOP", None), ("WScale", 7)])),
    )
    first = options.to(S0, clo=1, sid=1)
    book.switch("tcp-options", "the header follows the TCP options").send(
        7, options, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    )
    bare = request(tcp=True, req_id=8)
    book.switch("tcp-without-client-id", "TCP needs CLIENT_ID_VALID").passes(
        7, bare, "tcp_without_client_id"
    )
    for words in (0, 4, 15):
        short = request(tcp=True, flags=2, payload=b"", l4=(("dataofs", words),))
        book.switch(f"tcp-data-offset-{words}", "header shorter than itself, or too long").passes(
            7, short, "bad_length"
        )
    half = request(tcp=True, flags=2, payload=b"", l4=(("dataofs", 6),))
    book.switch("tcp-payload-too-short", "options leave 24 bytes").passes(7, half, "short_payload")
    book.switch("tcp-runt", "it ends inside the TCP header").passes(
        7, request(tcp=True, flags=2).bytes()[:53], "runt"
    )
    answer = response(0, tcp=True, flags=2, client_id=3, req_id=8, clo=1)
    book.switch("tcp-response-pair", "responses over TCP are filtered by the same id").send(
        1, answer, (7, answer), counts="response_first"
    ).send(
        2,
        response(1, tcp=True, flags=2, client_id=3, req_id=8, clo=2),
        counts="filtered_slower_response",
    )
    book.switch("tcp-order-before-type", "TCP without its flag comes before TYPE").passes(
        7, request(tcp=True, type=9), "tcp_without_client_id"
    )
