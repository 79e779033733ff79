# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Failure of a server (section 3.6, and detection in the data plane, beyond the paper).

Timeouts of 400 ms and steps that keep 200 ms away from them, so that the
runners without a clock of their own can play these in real time.
"""

from tests.conformance.frames import request, response, server
from tests.conformance.scenarios.multi_packet import SECOND, decision, part
from tests.conformance.writing import Book, held

S0, S1, S2 = server(0), server(1), server(2)
SECOND_BUSY = {"0": 0, "1": 5, "2": 0}
BOTH_BUSY = {"0": 5, "1": 5, "2": 5}


def write(book: Book) -> None:
    removal(book)
    owing(book)
    steering(book)
    probing(book)


def removal(book: Book) -> None:
    left = {"1": [0, 2], "2": [2, 0]}
    for grp, (a, b) in {1: (0, 2), 2: (2, 0)}.items():
        ask = request(grp=grp)
        first = ask.to(server(a), req_id=1, clo=1, sid=b)
        scenario = book.switch(
            f"removed-server-group-{grp}", "groups renumbered without server 1", groups=left
        )
        scenario.config["n_groups"] = 2
        del scenario.before["servers"]["1"]
        scenario.send(
            7, ask, (a + 1, first), (b + 1, first.to(server(b), clo=2)), counts="cloned"
        ).leaves(sequence=1)
    late = response(1, req_id=4, clo=1)
    scenario = book.switch("removed-server-answers-late", "its answer passes, Linux forwards it")
    del scenario.before["servers"]["1"]
    scenario.passes(2, late, "unknown_source")


def owing(book: Book) -> None:
    ask = request()
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch(
        "owed-by-both-of-a-clone", "original and copy are owed", server_timeout_ms=60_000
    ).send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned").leaves(
        sequence=1, owed={"0": 1, "1": 1}
    )
    book.switch(
        "owed-by-first-only",
        "a request that is not cloned",
        server_timeout_ms=60_000,
        state=SECOND_BUSY,
    ).send(7, ask, (1, ask.to(S0, req_id=1)), counts="not_cloned").send(
        7, ask, (1, ask.to(S0, req_id=2)), counts="not_cloned"
    ).leaves(sequence=2, owed={"0": 2})
    answer = response(0, req_id=1, clo=1)
    book.switch(
        "owed-nothing-after-response",
        "any response clears what a server owes",
        server_timeout_ms=60_000,
    ).send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned").send(
        1, answer, (7, answer), counts="response_first"
    ).leaves(sequence=1, owed={"1": 1}, filter=[held(0, 1)])
    slow = response(1, req_id=1, clo=2)
    book.switch(
        "owed-cleared-by-slower",
        "the slower response is a sign of life too",
        server_timeout_ms=60_000,
    ).send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned").send(
        1, answer, (7, answer), counts="response_first"
    ).send(2, slow, counts="filtered_slower_response").leaves(sequence=1)
    write = request(flags=1, dst=S2)
    book.switch(
        "owed-not-for-writes", "NO_CLONE requests do not count as owed", server_timeout_ms=60_000
    ).send(7, write, (3, write.but(req_id=1)), counts="no_clone").leaves(sequence=1)
    forged = response(0, req_id=1, clo=1).but(sid=1)
    book.switch(
        "owed-not-cleared-by-forged",
        "only the server itself can clear it",
        server_timeout_ms=60_000,
    ).send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned").passes(
        1, forged, "unknown_source"
    ).leaves(sequence=1, owed={"0": 1, "1": 1})
    book.switch("owed-not-without-timeout", "off by timeout 0").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)


def steering(book: Book) -> None:
    ask = request()
    to_first = ask.to(S0, req_id=1)
    scenario = book.switch(
        "failed-first-is-avoided",
        "a silent server is not chosen",
        server_timeout_ms=400,
        state=SECOND_BUSY,
    )
    scenario.send(7, ask, (1, to_first), counts="not_cloned")
    scenario.send(7, ask, (2, ask.to(S1, req_id=2)), counts="not_cloned", at_ms=600)
    scenario.leaves(sequence=2, owed={"0": 1, "1": 1})

    scenario = book.switch(
        "failed-second-not-cloned-to", "nor cloned to, although idle", server_timeout_ms=400
    )
    other = request(grp=5)  # servers 1, 2
    both = other.to(S1, req_id=1, clo=1, sid=2)
    scenario.send(7, other, (2, both), (3, both.to(S2, clo=2)), counts="cloned")
    alive = response(2, grp=5, req_id=1, clo=2)
    scenario.send(3, alive, (7, alive), counts="response_first")
    scenario.send(7, ask, (1, ask.to(S0, req_id=2)), counts="not_cloned", at_ms=600)
    scenario.leaves(sequence=2, owed={"0": 1, "1": 1}, filter=[held(0, 1)])

    scenario = book.switch(
        "failed-both-first-gets-it", "both silent: the first gets it", server_timeout_ms=400
    )
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    scenario.send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    scenario.send(7, ask, (1, ask.to(S0, req_id=2)), counts="not_cloned", at_ms=600)
    scenario.leaves(sequence=2, owed={"0": 2, "1": 1})

    scenario = book.switch(
        "failed-not-yet", "owed, but for less than the timeout", server_timeout_ms=60_000
    )
    again = ask.to(S0, req_id=2, clo=1, sid=1)
    scenario.send(7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned")
    scenario.send(7, ask, (1, again), (2, again.to(S1, clo=2)), counts="cloned", at_ms=200)
    scenario.leaves(sequence=2, owed={"0": 2, "1": 2})

    for alone, silent, living in ((0, S0, S1), (SECOND, S1, S0)):
        which = "second" if alone else "first"
        scenario = book.switch(
            f"failed-{which}-stored-alone",
            "a decision for one server that has failed since is taken anew",
            server_timeout_ms=400,
            state={"0": 1, "1": 1, "2": 0},
            requests=[decision(alone)],
        )
        scenario.send(7, part(0), (silent.port, part(0).to(silent)), counts="not_cloned")
        for index in range(2):
            out = (living.port, part(index).to(living))
            scenario.send(7, part(index), out, counts="not_cloned", at_ms=600)
        owed = {"0": 2, "1": 1} if alone else {"0": 1, "1": 2}
        scenario.leaves(requests=[decision(0 if alone else SECOND)], owed=owed)

    for alone, silent, other in ((0, S0, S1), (SECOND, S1, S0)):
        which = "second" if alone else "first"
        scenario = book.switch(
            f"failed-{which}-stored-both-silent",
            "a decision for one server stands where the other one has failed as well",
            server_timeout_ms=400,
            state={"0": 1, "1": 1, "2": 0},
            requests=[decision(alone)],
        )
        from_other = request(grp=1 if alone else 2)
        scenario.send(7, part(0), (silent.port, part(0).to(silent)), counts="not_cloned")
        scenario.send(
            7, from_other, (other.port, from_other.to(other, req_id=1)), counts="not_cloned"
        )
        out = (silent.port, part(1).to(silent))
        scenario.send(7, part(1), out, counts="not_cloned", at_ms=600)
        scenario.leaves(sequence=1, owed={"0": 1, "1": 2} if alone else {"0": 2, "1": 1})

    write = request(flags=1, dst=S0)
    scenario = book.switch(
        "failed-write-not-steered",
        "NO_CLONE requests are not steered",
        server_timeout_ms=400,
        state=SECOND_BUSY,
    )
    scenario.send(7, ask, (1, to_first), counts="not_cloned")
    scenario.send(7, write, (1, write.but(req_id=2)), counts="no_clone", at_ms=600)
    scenario.leaves(sequence=2, owed={"0": 1})


def probing(book: Book) -> None:
    ask = request()
    scenario = book.switch(
        "failed-is-probed",
        "a timeout after it was found failed, and again",
        server_timeout_ms=400,
        state=BOTH_BUSY,
    )
    scenario.send(7, ask, (1, ask.to(S0, req_id=1)), counts="not_cloned")
    scenario.send(7, ask, (2, ask.to(S1, req_id=2)), counts="not_cloned", at_ms=600)
    life = response(1, req_id=2, state=5)
    scenario.send(2, life, (7, life), counts="response_forwarded", at_ms=600)
    probe = ask.to(S1, req_id=3, clo=1, sid=0)
    scenario.send(7, ask, (2, probe), (1, probe.to(S0)), counts="probed", at_ms=1200)
    scenario.send(2, life, (7, life), counts="response_forwarded", at_ms=1200)
    scenario.send(7, ask, (2, ask.to(S1, req_id=4)), counts="not_cloned", at_ms=1200)
    scenario.leaves(sequence=4, owed={"0": 2, "1": 1})

    scenario = book.switch(
        "failed-comes-back",
        "by itself: one response, and it is chosen again",
        server_timeout_ms=400,
        state=BOTH_BUSY,
    )
    scenario.send(7, ask, (1, ask.to(S0, req_id=1)), counts="not_cloned")
    scenario.send(7, ask, (2, ask.to(S1, req_id=2)), counts="not_cloned", at_ms=600)
    back = response(0, req_id=1, state=5)
    scenario.send(1, back, (7, back), counts="response_forwarded", at_ms=600)
    scenario.send(7, ask, (1, ask.to(S0, req_id=3)), counts="not_cloned", at_ms=600)
    scenario.leaves(sequence=3, owed={"0": 1, "1": 1})
