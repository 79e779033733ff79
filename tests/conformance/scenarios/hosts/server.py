# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server: which clones it drops, and what it stamps."""

from typing import Any

from tests.conformance.frames import ANY, C2, Frame, request, response, server
from tests.conformance.writing import LINUX, WIRE, Book

HERE = server(2)


def asks(clo: int = 0, req_id: int = 1, **fields: Any) -> Frame:
    """A request as it arrives at server 2."""
    return request(dst=HERE, req_id=req_id, clo=clo, sid=2, **fields)


def answers(req_id: int = 1, clo: int = 0, **fields: Any) -> Frame:
    """What the application of server 2 sends: the request's header with TYPE = RESP."""
    return response(0, req_id=req_id, clo=clo, **fields).but(src=HERE)


def write(book: Book) -> None:
    admission(book)
    stamping(book)
    counting(book)
    multi_packet(book)
    application_state(book)
    untouched(book)


def fill(scenario: Any, count: int, start: int = 100) -> Any:
    """Bring requests in flight, one a client port."""
    for n in range(count):
        frame = asks(req_id=start + n)
        scenario.send(WIRE, frame, (LINUX, frame), counts="request_admitted")
    return scenario


def admission(book: Book) -> None:
    for clo, counter in ((0, "request_admitted"), (1, "request_admitted"), (2, "clone_admitted")):
        frame = asks(clo)
        book.server(f"idle-admits-clo-{clo}", "the queue is empty").send(
            WIRE, frame, (LINUX, frame), counts=counter
        ).leaves(in_flight=1)
    for clo in (0, 1):
        scenario = fill(book.server(f"busy-admits-clo-{clo}", "only clones are ever dropped"), 3)
        frame = asks(clo)
        scenario.send(WIRE, frame, (LINUX, frame), counts="request_admitted").leaves(in_flight=4)
    scenario = fill(book.server("busy-drops-clone", "CLO 2 and the queue is not empty"), 2)
    scenario.send(WIRE, asks(2), counts="dropped_server_busy").leaves(in_flight=2)
    scenario = fill(book.server("workers-busy-queue-empty", "in flight = workers: nobody waits"), 1)
    scenario.send(WIRE, asks(2), (LINUX, asks(2)), counts="clone_admitted").leaves(in_flight=2)
    for workers in (2, 8, 15):
        scenario = fill(
            book.server(f"workers-{workers}", "unequal worker counts", workers=workers), workers
        )
        scenario.send(WIRE, asks(2), (LINUX, asks(2)), counts="clone_admitted")
        scenario.send(WIRE, asks(2, req_id=2), counts="dropped_server_busy")
        scenario.leaves(in_flight=workers + 1)
    scenario = fill(book.server("clone-after-answer", "an answer empties the queue"), 2)
    done = answers(100)
    scenario.send(LINUX, done, (WIRE, done.but(sid=2, state=0)), counts="egress.response_stamped")
    scenario.send(WIRE, asks(2), (LINUX, asks(2)), counts="clone_admitted").leaves(in_flight=2)
    for v6, vlans in ((True, ()), (False, ((0x8100, 9),))):
        scenario = book.server(f"admits-{'ipv6' if v6 else 'vlan'}", "any frame that parses")
        frame = asks(2, v6=v6, vlans=vlans)
        scenario.send(WIRE, frame, (LINUX, frame), counts="clone_admitted").leaves(in_flight=1)
    tcp = asks(1, tcp=True, flags=2, client_id=6)
    book.server("admits-tcp", "the header on TCP").send(
        WIRE, tcp, (LINUX, tcp), counts="request_admitted"
    ).leaves(in_flight=1)


def stamping(book: Book) -> None:
    for waiting in (0, 1, 4):
        scenario = fill(
            book.server(f"stamps-state-{waiting}", "SID and STATE of the answer"), waiting + 2
        )
        done = answers(100)
        scenario.send(
            LINUX, done, (WIRE, done.but(sid=2, state=waiting)), counts="egress.response_stamped"
        ).leaves(in_flight=waiting + 1)
    for v6 in (False, True):
        for checksum in ("full", "wrong") if v6 else ("full", "wrong", "none"):
            done = answers(5, clo=2, v6=v6, checksum=checksum, idx=1)
            book.server(f"stamps-ipv{6 if v6 else 4}-{checksum}", "checksum updated with it").send(
                LINUX, done, (WIRE, done.but(sid=2)), counts="egress.response_stamped"
            )
    tcp = answers(5, tcp=True, flags=2, client_id=1)
    book.server("stamps-tcp", "over TCP too").send(
        LINUX, tcp, (WIRE, tcp.but(sid=2)), counts="egress.response_stamped"
    )
    bare = answers(5, v6=True, checksum="none")
    book.server("stamps-ipv6-none", "a socket that sends without a checksum wants none").send(
        LINUX, bare, (WIRE, bare.but(sid=2)), counts="egress.response_stamped"
    )
    offloaded = answers(5, checksum="partial")
    book.server("stamps-offloaded", "a partial sum covers only the pseudo header").send(
        LINUX,
        offloaded,
        (WIRE, offloaded.but(sid=2)),
        counts="egress.response_stamped",
        offloaded=True,
    )
    vlan = answers(5, vlans=((0x8100, 9),))
    book.server("stamps-vlan", "behind a VLAN tag").send(
        LINUX, vlan, (WIRE, vlan.but(sid=2)), counts="egress.response_stamped"
    )
    late = answers(77, state=123)
    book.server("stamps-unknown-request", "a request forgotten or never seen: never negative").send(
        LINUX, late, (WIRE, late.but(sid=2, state=0)), counts="egress.response_stamped"
    )
    for sid in (0, 255):
        done = answers(5)
        book.server(
            f"stamps-own-sid-{sid}", "its own id, whatever the application wrote", sid=sid
        ).send(LINUX, done, (WIRE, done.but(sid=sid)), counts="egress.response_stamped")
    kept = answers(5, clo=1, idx=1, flags=0xF0, switch_id=9, reserved0=3, client_id=8, grp=77)
    book.server("stamps-nothing-else", "REQ_ID, GRP, CLO, IDX, SWITCH_ID stay").send(
        LINUX, kept, (WIRE, kept.but(sid=2)), counts="egress.response_stamped"
    )


def counting(book: Book) -> None:
    scenario = book.server("same-request-counted-once", "original and retransmission: one request")
    for _ in range(3):
        scenario.send(WIRE, asks(1), (LINUX, asks(1)), counts="request_admitted")
    scenario.leaves(in_flight=1)
    scenario = book.server(
        "same-id-other-client", "client address and port are in the identity", workers=0
    )
    for frame in (asks(), asks(src=C2), asks(sport=40001), asks(v6=True)):
        scenario.send(WIRE, frame, (LINUX, frame), counts="request_admitted")
    done = answers(1)
    scenario.send(
        LINUX, done, (WIRE, done.but(sid=2, state=3)), counts="egress.response_stamped"
    ).leaves(in_flight=3)
    scenario = book.server("same-id-other-client-id", "CLIENT_ID is in the identity if valid")
    for frame in (
        asks(),
        asks(flags=2, client_id=1),
        asks(flags=2, client_id=2),
        asks(client_id=5),
    ):
        scenario.send(WIRE, frame, (LINUX, frame), counts="request_admitted")
    scenario.leaves(in_flight=3)
    scenario = book.server(
        "counts-add-up", "port, REQ_ID and CLIENT_ID counted up from one start do not meet"
    )
    for n in range(8):
        for flags in (0, 2):
            frame = asks(sport=40000 + n, flags=flags, client_id=n)
            scenario.send(WIRE, frame, (LINUX, frame), counts="request_admitted")
    scenario.leaves(in_flight=16)
    scenario = fill(book.server("answered-twice", "the second answer lowers nothing"), 3)
    done = answers(100)
    for _ in range(2):
        scenario.send(
            LINUX, done, (WIRE, done.but(sid=2, state=1)), counts="egress.response_stamped"
        )
    scenario.leaves(in_flight=2)
    scenario = fill(book.server("dropped-clone-not-counted", "what is dropped is not in flight"), 2)
    for n in range(3):
        scenario.send(WIRE, asks(2, req_id=n + 1), counts="dropped_server_busy")
    scenario.leaves(in_flight=2)
    scenario = fill(
        book.server(
            "forgotten-after-timeout",
            "a request that is never answered is forgotten",
            request_timeout_ms=200,
        ),
        3,
    )
    scenario.send(WIRE, asks(2), (LINUX, asks(2)), counts="clone_admitted", at_ms=800)
    scenario.leaves(in_flight=1)
    scenario = fill(
        book.server(
            "not-forgotten-before-timeout", "it counts until then", request_timeout_ms=60_000
        ),
        3,
    )
    scenario.send(WIRE, asks(2), counts="dropped_server_busy", at_ms=300)
    scenario.leaves(in_flight=3)


def multi_packet(book: Book) -> None:
    def part(index: int, clo: int = 2, req_id: int = 9) -> Frame:
        return asks(clo, req_id=req_id, flags=2, client_id=1, pkt_index=index, pkt_count=3)

    scenario = book.server(
        "multi-clone-admitted-whole", "all packets of an admitted clone", workers=0
    )
    for index in range(3):
        scenario.send(WIRE, part(index), (LINUX, part(index)), counts="clone_admitted")
    scenario.leaves(in_flight=1)
    scenario = fill(book.server("multi-clone-dropped-whole", "none of a clone that was dropped"), 2)
    scenario.send(WIRE, part(0), counts="dropped_server_busy")
    for n in (100, 101):
        done = answers(n)
        scenario.send(LINUX, done, (WIRE, done.but(sid=2)), counts="egress.response_stamped")
    for index in (1, 2):
        scenario.send(WIRE, part(index), counts="dropped_server_busy")
    scenario.leaves(in_flight=0)
    scenario = fill(book.server("multi-original-never-dropped", "CLO 1: every packet"), 4)
    for index in range(3):
        scenario.send(
            WIRE, part(index, clo=1), (LINUX, part(index, clo=1)), counts="request_admitted"
        )
    scenario.leaves(in_flight=5)
    lone = asks(2, pkt_index=2, pkt_count=1)
    book.server("index-without-count", "PKT_INDEX counts only with PKT_COUNT > 1").send(
        WIRE, lone, (LINUX, lone), counts="clone_admitted"
    ).leaves(in_flight=1)
    for tables in (2, 4):
        scenario = book.server(
            f"multi-response-{tables}-tables",
            "ordered filter tables: IDX = PKT_INDEX mod tables",
            filter_tables=tables,
        )
        for index in range(5):
            frame = answers(9, flags=2, client_id=1, pkt_index=index, pkt_count=5, idx=1)
            scenario.send(
                LINUX,
                frame,
                (WIRE, frame.but(sid=2, idx=index % tables)),
                counts="egress.response_stamped",
            )


def application_state(book: Book) -> None:
    why = "--state app: the application says how long its queue is"
    for queue in (0, 1, 1000):
        done = answers(5)
        book.server(
            f"app-state-{queue}-stamped", why, state_source="app", app_queue_length=queue
        ).send(LINUX, done, (WIRE, done.but(sid=2, state=queue)), counts="egress.response_stamped")
    scenario = book.server(
        "app-state-busy-drops-clone", why, state_source="app", app_queue_length=1
    )
    scenario.send(WIRE, asks(2), counts="dropped_server_busy")
    scenario.send(WIRE, asks(1), (LINUX, asks(1)), counts="request_admitted").leaves(in_flight=1)
    scenario = fill(book.server("app-state-idle-admits-clone", why, state_source="app"), 5)
    scenario.send(WIRE, asks(2), (LINUX, asks(2)), counts="clone_admitted").leaves(in_flight=6)


def untouched(book: Book) -> None:
    back = response(0, to=HERE, req_id=5)
    book.server("response-at-ingress", "a server may be a client of others").send(
        WIRE, back, (LINUX, back), counts="ingress.other_direction"
    )
    out = request(src=HERE, dst=ANY)
    book.server("request-at-egress", "a server may be a client of others").send(
        LINUX, out, (WIRE, out), counts="egress.other_direction"
    )
    for name, frame, counter in (
        ("grp-65281", asks(grp=65281), "bad_group"),
        ("grp-0", asks(grp=0), "bad_group"),
        ("sid-256", asks().but(sid=256), "bad_sid"),
        ("idx-2", asks(idx=2), "bad_idx"),
        ("clo-3", asks(3), "bad_clo"),
        ("port", asks(dport=999), "not_netclone"),
        ("short", asks(2).bytes()[:50], "bad_length"),
    ):
        book.server(f"ingress-{name}", "passes untouched").send(
            WIRE, frame, (LINUX, frame), counts=f"ingress.{counter}"
        )
    high = asks(grp=65280)
    book.server("ingress-grp-65280", "a server does not know n: 256 * 255 groups").send(
        WIRE, high, (LINUX, high), counts="request_admitted"
    ).leaves(in_flight=1)
    for name, frame, counter in (
        ("type", answers(5).but(type=3), "bad_type"),
        ("sid", answers(5).but(sid=300), "bad_sid"),
        ("fragment", answers(5, ip=(("frag", 4),)), "fragment"),
    ):
        book.server(f"egress-{name}", "passes untouched").send(
            LINUX, frame, (WIRE, frame), counts=f"egress.{counter}"
        )
