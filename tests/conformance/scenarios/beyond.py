# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What goes beyond the paper: RackSched alone, the reserve rule, held cloning."""

from collections.abc import Callable
from typing import Any

from tests.conformance.frames import Frame, request, server
from tests.conformance.scenarios.hosts.server import answers, asks, fill
from tests.conformance.scenarios.multi_packet import CLONED, SECOND, decision, part
from tests.conformance.writing import LINUX, WIRE, Book, Writing, held

S0, S1 = server(0), server(1)
FULL, REFUSES = 1 << 16, 1 << 31  # STATE under the reserve rule: held = workers; no clones


def write(book: Book) -> None:
    racksched_alone(book)
    reserve_at_the_switch(book)
    held_cloning(book)
    reserve_at_a_server(book)


def queues(first: int, second: int) -> dict[str, Any]:
    return {"state": {"0": first, "1": second, "2": 0}}


def cloned(scenario: Writing, first: int, second: int, req_id: int = 1) -> Writing:
    original = request().to(server(first), req_id=req_id, clo=1, sid=second)
    return scenario.send(
        7,
        request(),
        (first + 1, original),
        (second + 1, original.to(server(second), clo=2)),
        counts="cloned",
    )


def alone(scenario: Writing, chosen: int, req_id: int = 1) -> Writing:
    frame = request().to(server(chosen), req_id=req_id)
    return scenario.send(7, request(), (chosen + 1, frame), counts="not_cloned")


def racksched_alone(book: Book) -> None:
    why = "RackSched without clones: the shorter queue, the first if equal"
    for first, second, chosen in ((0, 0, 0), (1, 0, 1), (0, 1, 0), (3, 2, 1), (2, 2, 0)):
        scenario = book.switch(
            f"racksched-alone-{first}-{second}",
            why,
            racksched=True,
            cloning=False,
            **queues(first, second),
        )
        alone(scenario, chosen).leaves(sequence=1)
    scenario = book.switch(
        "racksched-alone-multi-packet",
        "the choice for the first packet holds for the next, and is no clone",
        racksched=True,
        cloning=False,
        **queues(1, 0),
    )
    for index in range(3):
        scenario.send(7, part(index), (2, part(index).to(S1)), counts="not_cloned")
    scenario.leaves(requests=[decision(SECOND)])


def reserve_at_the_switch(book: Book) -> None:
    why = "cloned unless one of the two refuses clones; more room first; what is sent is counted"
    for first, second, order in (
        (0, 0, (0, 1)),
        (FULL, FULL, (0, 1)),
        (FULL + 2, FULL - 1, (1, 0)),
        (FULL - 3, FULL - 2, (0, 1)),
        (1, 0, (1, 0)),
    ):
        scenario = book.switch(
            f"reserve-clones-{first:x}-{second:x}", why, reserve=True, **queues(first, second)
        )
        cloned(scenario, *order).leaves(sequence=1, **queues(first + 1, second + 1))
    for first, second, chosen in (
        (REFUSES | FULL, FULL, 0),
        (FULL, REFUSES | FULL, 0),
        (REFUSES | FULL, REFUSES | (FULL - 1), 1),
        (FULL + 1, REFUSES | FULL, 1),
    ):
        scenario = book.switch(
            f"reserve-refused-{first:x}-{second:x}",
            "bit 31 of either state: no clone, the smaller load gets it",
            reserve=True,
            **queues(first, second),
        )
        after = queues(first + (chosen == 0), second + (chosen == 1))
        alone(scenario, chosen).leaves(sequence=1, **after)
    scenario = book.switch(
        "reserve-load-full",
        "the load in the low 31 bits does not run over into bit 31",
        reserve=True,
        **queues(REFUSES - 1, REFUSES - 1),
    )
    cloned(scenario, 0, 1).leaves(sequence=1)
    scenario = book.switch(
        "reserve-turns", "what was sent since the last response turns the choice", reserve=True
    )
    scenario.before.update(queues(REFUSES | FULL, REFUSES | FULL))
    for n, chosen in enumerate((0, 1, 0, 1), start=1):
        alone(scenario, chosen, req_id=n)
    scenario.leaves(sequence=4, **queues(REFUSES | (FULL + 2), REFUSES | (FULL + 2)))


def held_cloning(book: Book) -> None:
    why = "while groups are renumbered nothing is cloned: the original goes out alone"
    alone(book.switch("hold-both-idle", why, hold=True), 0).leaves(sequence=1)
    alone(book.switch("hold-one-busy", why, hold=True, **queues(0, 2)), 0).leaves(sequence=1)
    alone(book.switch("hold-racksched", why, hold=True, racksched=True, **queues(2, 1)), 1).leaves(
        sequence=1
    )
    alone(
        book.switch("hold-filter-kept", "no clone, so no slot to clear", hold=True, sequence=4,
                    filter=[held(0, 5)]),
        0, req_id=5,
    ).leaves(sequence=5)  # fmt: skip
    scenario = book.switch(
        "hold-multi-packet", "what is decided meanwhile is cloned again afterwards", hold=True
    )
    for index in range(3):
        scenario.send(7, part(index), (1, part(index).to(S0)), counts="not_cloned")
    scenario.leaves(requests=[decision(CLONED)])
    scenario = book.switch("hold-reserve", "under the reserve rule too", hold=True, reserve=True)
    alone(scenario, 0).leaves(sequence=1, **queues(1, 1))


def reserve_at_a_server(book: Book) -> None:
    def stamped(scenario: Writing, req_id: int, state: int) -> Writing:
        done: Frame = answers(req_id)
        return scenario.send(
            LINUX, done, (WIRE, done.but(sid=2, state=state)), counts="egress.response_stamped"
        )

    for workers, waiting in ((1, 0), (4, 0), (4, 3)):
        scenario = fill(
            book.server(
                f"reserve-state-{workers}-{waiting}",
                "STATE: 65536 + held - workers; bit 31 if a clone would be refused now",
                workers=workers,
                reserve=True,
            ),
            waiting,
        )
        stamped(scenario, 9, FULL + waiting - workers).leaves(in_flight=waiting)
    scenario = fill(
        book.server("reserve-idle-admits", "without a reserve: while held <= workers",
                    workers=2, reserve=True), 2,
    )  # fmt: skip
    scenario.send(WIRE, asks(2), (LINUX, asks(2)), counts="clone_admitted")
    scenario.send(WIRE, asks(2, req_id=2), counts="dropped_server_busy").leaves(in_flight=3)
    kept_for_originals(book, stamped)
    scenario = book.server(
        "reserve-app-state",
        "the application says how many requests it holds",
        workers=4,
        reserve=True,
        state_source="app",
        app_queue_length=5,
    )
    scenario.send(WIRE, asks(2), counts="dropped_server_busy")
    stamped(scenario, 1, REFUSES | (FULL + 1))


def averaged(average: int, sample: int) -> int:
    return average + (sample - average >> 9)


def kept_for_originals(book: Book, stamped: Callable[[Writing, int, int], Writing]) -> None:
    """Four workers that originals keep busy: a reserve of 1, or of 2 for the id 55, whose
    dither is 0xfdeb."""
    high_dither = 55
    averages = {"busy": 4 << 16, "originals": 1 << 16}
    scenario = fill(
        book.server(
            "reserve-kept",
            "a clone is dropped if held + reserve > workers; bit 31 says so in advance",
            workers=4,
            reserve=True,
            averages=averages,
        ),
        4,
    )
    busy = averages["busy"]
    for held_before in range(4):
        busy = averaged(busy, held_before << 16)
    scenario.send(WIRE, asks(2), counts="dropped_server_busy")
    stamped(scenario, 100, FULL - 1)
    scenario.send(WIRE, asks(2, req_id=high_dither), counts="dropped_server_busy")
    stamped(scenario, high_dither, REFUSES | (FULL - 1))
    scenario.send(WIRE, asks(2), (LINUX, asks(2)), counts="clone_admitted")
    scenario.leaves(in_flight=4, averages={"busy": busy, "originals": averaged(1 << 16, 0)})

    # Of what is used beyond 21/32 of the workers 3/4 count, here 77 and 78 of 65536; the dither
    # of the id 377 is 0xffb2, which makes the latter 1.
    for beyond, counter in ((103, "clone_admitted"), (104, "dropped_server_busy")):
        averages = {"busy": 4 * 43008 + beyond, "originals": 1 << 16}
        scenario = book.server(
            f"reserve-rounded-{beyond}",
            "the reserve is rounded by the id",
            workers=4,
            reserve=True,
            state_source="app",
            app_queue_length=4,
            averages=averages,
        )
        frame = asks(2, req_id=377)
        if counter == "dropped_server_busy":
            scenario.send(WIRE, frame, counts=counter)
        else:
            after = {**averages, "originals": averaged(1 << 16, 0)}
            scenario.send(WIRE, frame, (LINUX, frame), counts=counter).leaves(
                in_flight=1, averages=after
            )
