# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Section 3.7, multi-packet messages: all packets of a request go the same way."""

from collections.abc import Callable
from typing import Any

from tests.conformance.frames import Frame, request, response, server
from tests.conformance.writing import Book, Writing, address, fingerprint, held, slot_of

S0, S1 = server(0), server(1)
CLONED, SECOND = 1 << 59, 1 << 60
IDLE, FIRST_BUSY = {"0": 0, "1": 0, "2": 0}, {"0": 2, "1": 0, "2": 0}


def part(index: int, count: int = 3, **fields: Any) -> Frame:
    given = {"flags": 2, "client_id": 4, "req_id": 70, **fields}
    return request(pkt_index=index, pkt_count=count, **given)


def decision(bits: int, req_id: int = 70, client_id: int = 4) -> list[Any]:
    """An entry of the cloned-request table: slot, word."""
    key = fingerprint(req_id, client_id)
    return [slot_of(key, log2=16), f"{key | bits:#x}"]


def write(book: Book) -> None:
    requests(book)
    overriding(book)
    without_ids(book)
    unusable(book)
    responses(book)


def requests(book: Book) -> None:
    scenario = book.switch("multi-cloned", "every packet of a cloned request is cloned")
    for index in range(3):
        first = part(index).to(S0, clo=1, sid=1)
        scenario.send(7, part(index), (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    scenario.leaves(requests=[decision(CLONED)])

    scenario = book.switch(
        "multi-not-cloned", "and none of a request that was not", state=FIRST_BUSY
    )
    for index in range(3):
        scenario.send(7, part(index), (1, part(index).to(S0)), counts="not_cloned")
    scenario.leaves(requests=[decision(0)])

    scenario = book.switch("multi-out-of-order", "the packet that comes first decides")
    for index in (2, 0, 1):
        first = part(index).to(S0, clo=1, sid=1)
        scenario.send(7, part(index), (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    scenario.leaves(requests=[decision(CLONED)])

    one, two = part(0, req_id=70), part(0, req_id=71)
    first, other = one.to(S0, clo=1, sid=1), two.to(S0, clo=1, sid=1)
    book.switch("multi-two-requests", "each request has its own decision").send(
        7, one, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).send(7, two, (1, other), (2, other.to(S1, clo=2)), counts="cloned").leaves(
        requests=[decision(CLONED), decision(CLONED, req_id=71)]
    )

    far = part(0, req_id=70 + (1 << 16))
    book.switch(
        "multi-collision-overwrites",
        "another request on the slot is overwritten",
        state=FIRST_BUSY,
        requests=[decision(CLONED)],
    ).send(7, far, (1, far.to(S0)), counts="not_cloned").leaves(
        requests=[decision(0, req_id=70 + (1 << 16))]
    )

    single = part(0, count=1)
    first = single.to(S0, clo=1, sid=1)
    book.switch(
        "multi-count-1-is-single",
        "PKT_COUNT 1 is a single packet: nothing is stored",
        requests=[decision(0)],
    ).send(7, single, (1, first), (2, first.to(S1, clo=2)), counts="cloned")


def overriding(book: Book) -> None:
    first = part(1).to(S0, clo=1, sid=1)
    book.switch(
        "multi-cloned-although-busy-now",
        "whatever the states are by now",
        state={"0": 9, "1": 9, "2": 0},
        requests=[decision(CLONED)],
    ).send(7, part(1), (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    book.switch(
        "multi-not-cloned-although-idle-now",
        "whatever the states are by now",
        requests=[decision(0)],
    ).send(7, part(1), (1, part(1).to(S0)), counts="not_cloned")
    book.switch(
        "multi-racksched-second-stored",
        "RackSched's choice is stored",
        racksched=True,
        state=FIRST_BUSY,
    ).send(7, part(0), (2, part(0).to(S1)), counts="not_cloned").leaves(requests=[decision(SECOND)])
    book.switch(
        "multi-racksched-stays-with-second",
        "and kept when the queues have turned",
        racksched=True,
        state={"0": 0, "1": 9, "2": 0},
        requests=[decision(SECOND)],
    ).send(7, part(1), (2, part(1).to(S1)), counts="not_cloned")
    answer = response(0, flags=2, client_id=4, req_id=3, state=5)
    scenario = book.switch("multi-state-changes-between", "a response between two packets")
    zero, one = part(0).to(S0, clo=1, sid=1), part(1).to(S0, clo=1, sid=1)
    scenario.send(7, part(0), (1, zero), (2, zero.to(S1, clo=2)), counts="cloned").send(
        1, answer, (7, answer), counts="response_forwarded"
    ).send(7, part(1), (1, one), (2, one.to(S1, clo=2)), counts="cloned").leaves(
        state={"0": 5, "1": 0, "2": 0}, requests=[decision(CLONED)]
    )
    entry = held(0, 70, 4, pkt_index=1)
    other = held(0, 70, 4, pkt_index=2)
    book.switch(
        "multi-past-self-of-that-packet",
        "it clears the fingerprint of that packet",
        filter=[entry, other],
    ).send(7, part(1), (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(
        filter=[other], requests=[decision(CLONED)]
    )


def without_ids(book: Book) -> None:
    why = "nothing ties its packets together: never cloned, always the first candidate"
    scenario = book.switch("multi-without-client-id", why)
    for index in range(3):
        frame = part(index, flags=0)
        scenario.send(7, frame, (1, frame.to(S0, req_id=index + 1)), counts="not_cloned")
    scenario.leaves(sequence=3)
    frame = part(0, flags=0)
    book.switch("multi-without-client-id-racksched", why, racksched=True, state=FIRST_BUSY).send(
        7, frame, (1, frame.to(S0, req_id=1)), counts="not_cloned"
    ).leaves(sequence=1)
    scenario = book.switch("multi-without-client-id-first-gone", "the first that is usable")
    del scenario.before["servers"]["0"]
    scenario.send(7, frame, (2, frame.to(S1, req_id=1)), counts="not_cloned").leaves(sequence=1)


def unusable(book: Book) -> None:
    why = "a server that a decision names is no longer usable: to the one that is"
    for name, gone, bits, sid in (
        ("cloned-first-gone", 0, CLONED, 1),
        ("cloned-second-gone", 1, CLONED, 0),
        ("cloned-turned-first-gone", 0, CLONED | SECOND, 1),
    ):
        scenario = book.switch(
            f"multi-{name}", why, requests=[decision(bits)], state={"0": 9, "1": 9, "2": 0}
        )
        scenario.before["servers"][str(gone)] = address(server(gone), port=0)
        scenario.send(7, part(1), (sid + 1, part(1).to(server(sid))), counts="not_cloned")
    turned = part(1).to(S1, clo=1, sid=0)
    book.switch(
        "multi-cloned-turned",
        "original to the second, copy to the first (a probe's way)",
        requests=[decision(CLONED | SECOND)],
    ).send(7, part(1), (2, turned), (1, turned.to(S0, clo=2)), counts="cloned")
    for name, gone, bits, sid in (("first-gone", 0, 0, 1), ("second-gone", 1, SECOND, 0)):
        scenario = book.switch(
            f"multi-uncloned-{name}",
            "its only server is gone: decided anew and stored",
            requests=[decision(bits)],
            state={"0": 9, "1": 9, "2": 0},
        )
        scenario.before["servers"][str(gone)] = address(server(gone), port=0)
        scenario.send(7, part(1), (sid + 1, part(1).to(server(sid))), counts="not_cloned")
        scenario.leaves(requests=[decision(SECOND if sid else 0)])


def responses(book: Book) -> None:
    def answer(sid: int, index: int, count: int = 4, tables: int = 4) -> Frame:
        return response(
            sid,
            flags=2,
            client_id=4,
            req_id=70,
            clo=1 + sid,
            pkt_index=index,
            pkt_count=count,
            idx=index % tables,
        )

    scenario = book.switch(
        "multi-response-4-packets", "a table a packet, as in the paper", filter_tables=4
    )
    for index in range(4):
        scenario.send(1, answer(0, index), (7, answer(0, index)), counts="response_first")
    for index in range(4):
        scenario.send(2, answer(1, index), counts="filtered_slower_response")
    scenario = book.switch(
        "multi-response-longer-than-tables", "two packets never match each other's fingerprint"
    )
    for index in range(7):
        frame = answer(0, index, 7, 2)
        scenario.send(1, frame, (7, frame), counts="response_first")
    for index in range(7):
        scenario.send(2, answer(1, index, 7, 2), counts="filtered_slower_response")
    scenario = book.switch("multi-response-interleaved", "both servers' packets mixed")
    for index in range(4):
        fast, slow = answer(index % 2, index, 4, 2), answer(1 - index % 2, index, 4, 2)
        scenario.send(1 + index % 2, fast, (7, fast), counts="response_first")
        scenario.send(2 - index % 2, slow, counts="filtered_slower_response")
    retransmitted(book, answer)
    last = answer(0, 254, 255, 2)
    book.switch("multi-response-255-packets", "the last of the longest message").send(
        1, last, (7, last), counts="response_first"
    ).leaves(filter=[held(0, 70, 4, pkt_index=254)])
    lone = answer(0, 5, 1, 2)
    book.switch(
        "multi-response-index-without-count", "PKT_INDEX counts only with PKT_COUNT > 1"
    ).send(1, lone, (7, lone), counts="response_first").leaves(filter=[held(1, 70, 4)])


def retransmitted(book: Book, answer: Callable[..., Frame]) -> None:
    """Only one server answers each attempt: nothing of it may stop at the switch."""
    slot = decision(0)[0]

    def asked(scenario: Writing, *parts: Frame) -> None:
        for ask in parts:
            first = ask.to(S0, clo=1, sid=1)
            scenario.send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned")

    def answered(scenario: Writing, sid: int, count: int, counter: str = "response_first") -> None:
        for index in range(count):
            frame = answer(sid, index, count, 2)
            out = [(7, frame)] if counter == "response_first" else []
            scenario.send(1 + sid, frame, *out, counts=counter)

    single, two, late_only = (part(0, count=1),), (part(0, 2), part(1, 2)), (part(1, 2),)
    for name, first_time, again in (
        ("single-packet-request", single, single),
        ("request-of-two", two, two),
        ("last-packet-alone", two, late_only),
        ("index-without-count", (part(7, 1),), (part(7, 1),)),
    ):
        for count in (1, 3):
            scenario = book.switch(
                f"retransmitted-{name}-answered-by-{count}",
                "the response to the first attempt does not stop that to the second",
            )
            asked(scenario, *first_time)
            answered(scenario, 0, count)
            asked(scenario, *again)
            answered(scenario, 1, count)
            answered(scenario, 0, count, "filtered_slower_response")
            clonings = len(first_time) + len(again)
            scenario.leaves(attempts=[[slot, clonings]])
            if len(first_time) > 1:
                scenario.leaves(requests=[decision(CLONED)])

    def attempt(pkt_index: int, count: int, log2: int = 17) -> list[Any]:
        return held(pkt_index % 2, 70, 4, pkt_index=pkt_index, attempt=count, log2=log2)

    for before in (0, 5, 31, (1 << 17) - 1, (1 << 22) - 2):
        scenario = book.switch(
            f"retransmitted-attempt-{before + 1}",
            "the count lies over the low bits of REQ_ID and bits 59-63",
            attempts=[[slot, before]],
        )
        asked(scenario, *single)
        frame = answer(0, 1, 3, 2)
        scenario.send(1, frame, (7, frame), counts="response_first")
        scenario.leaves(attempts=[[slot, before + 1]], filter=[attempt(1, before + 1)])
    for log2, before in ((1, 1), (1, 2), (1, 62), (4, 15), (4, 16), (10, (1 << 15) - 2)):
        scenario = book.switch(
            f"retransmitted-{1 << log2}-slots-attempt-{before + 1}",
            "what a small table's slot does not tell of the count stands in bits 59-63",
            filter_slots=1 << log2,
            attempts=[[slot, before]],
            filter=[attempt(1, before + 1 - (1 << log2), log2)] if before >> log2 else [],
        )
        asked(scenario, *single)
        frame = answer(0, 1, 3, 2)
        scenario.send(1, frame, (7, frame), counts="response_first")
        scenario.leaves(attempts=[[slot, before + 1]], filter=[attempt(1, before + 1, log2)])
    kept = [held(1, 70, 4), held(0, 71, 4), held(1, 70, 4, pkt_index=1)]
    scenario = book.switch(
        "retransmitted-forgets-no-more",
        "nothing of other ids, or in other tables",
        filter=[*kept, held(0, 70, 4)],
    )
    asked(scenario, *two[:1])
    scenario.leaves(filter=kept, requests=[decision(CLONED)], attempts=[[slot, 1]])
    book.switch(
        "retransmitted-not-cloned",
        "what is not cloned again is no attempt: its response is not filtered",
        state=FIRST_BUSY,
        attempts=[[slot, 3]],
        filter=[attempt(0, 3)],
    ).send(7, single[0], (1, single[0].to(S0)), counts="not_cloned")
