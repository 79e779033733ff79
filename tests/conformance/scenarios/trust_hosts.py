# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a host takes as meant for it, and as an answer (docs/threat-model.md)."""

from dataclasses import replace
from typing import Any

from tests.conformance.frames import ANY, C1, Frame, request, response, server
from tests.conformance.writing import (
    LINUX,
    WIRE,
    Book,
    Writing,
    answered_key,
    fingerprint,
    slot_of,
)

S0, S1, S2 = server(0), server(1), server(2)
HERE = server(2)
BROADCAST, GROUP = "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:fb"


def write(book: Book) -> None:
    server_hosts(book)
    fragments(book)
    client_hosts(book)


def asks(clo: int = 0, req_id: int = 1, **fields: Any) -> Frame:
    return request(dst=HERE, req_id=req_id, clo=clo, sid=2, **fields)


def knowing(book: Book, name: str, why: str, **given: Any) -> Writing:
    """Server 2, which knows its addresses."""
    return book.server(name, why, mac=HERE.mac, addresses=[HERE.ip4, HERE.ip6], **given)


def server_hosts(book: Book) -> None:
    why = "in flight is only what is addressed to this host"
    for name, node in (
        ("broadcast", replace(HERE, mac=BROADCAST)),
        ("multicast", replace(HERE, mac=GROUP, ip4="224.0.0.251")),
        ("another-mac", replace(HERE, mac=S1.mac)),
        ("mac-first-bit", replace(HERE, mac=f"{int(HERE.mac[:2], 16) ^ 2:02x}" + HERE.mac[2:])),
        ("mac-last-bit", replace(HERE, mac=HERE.mac[:-2] + f"{int(HERE.mac[-2:], 16) ^ 1:02x}")),
        ("another-ipv4", replace(HERE, ip4="10.0.1.250")),
    ):
        for clo in (0, 2):
            frame = request(dst=node, req_id=1, clo=clo, sid=2)
            knowing(book, f"not-for-host-{name}-clo-{clo}", why).passes(WIRE, frame, "not_for_host")
    v6 = request(dst=replace(HERE, ip6="fd00:1::250"), req_id=1, v6=True)
    knowing(book, "not-for-host-another-ipv6", why).passes(WIRE, v6, "not_for_host")
    for name, frame in (("ipv4", asks()), ("ipv6", asks(v6=True))):
        knowing(book, f"for-host-{name}", "its own addresses").send(
            WIRE, frame, (LINUX, frame), counts="request_admitted"
        ).leaves(in_flight=1)
    second = request(dst=replace(HERE, ip4="10.0.1.251"), req_id=1)
    book.server(
        "for-host-second-address",
        "any of several",
        mac=HERE.mac,
        addresses=[HERE.ip4, "10.0.1.251"],
    ).send(WIRE, second, (LINUX, second), counts="request_admitted").leaves(in_flight=1)
    only4 = asks(v6=True)
    book.server(
        "for-host-ipv6-not-known", "no IPv6 address known: any", mac=HERE.mac, addresses=[HERE.ip4]
    ).send(WIRE, only4, (LINUX, only4), counts="request_admitted").leaves(in_flight=1)
    back = response(0, to=HERE, req_id=5)
    loop = back.but(dport=1000)
    book.server("response-for-the-application", "servers would answer each other").drops(
        WIRE, loop, "ingress.dropped_from_server_port"
    )
    echo = asks(sport=1000)
    book.server("request-of-a-server-port", "a coordinator may ask from there").send(
        WIRE, echo, (LINUX, echo), counts="request_admitted"
    ).leaves(in_flight=1)
    other = back.but(dport=2000)
    book.server("response-for-another-service", "any NetClone port", ports=[1000, 2000]).drops(
        WIRE, other, "ingress.dropped_from_server_port"
    )


def fragments(book: Book) -> None:
    """Responses longer than the MTU, as the server's stack sends them."""
    ask = asks()
    v4 = response(0, req_id=1, ip=(("flags", 1), ("id", 7))).but(src=HERE, payload=bytes(64))
    rest = v4.but(ip=(("frag", 12), ("id", 7)))
    for name, frame, counter, left in (
        ("first", v4, "response_fragmented", 0),
        ("rest", rest, "fragment", 1),
        ("of-a-request", v4.but(type=0, src=HERE, dport=1000, sport=40000), "fragment", 1),
        ("short", v4.but(payload=b"").bytes()[:60], "fragment", 1),
    ):
        scenario = book.server(f"fragmented-{name}", "nothing of it stays in flight")
        scenario.send(WIRE, ask, (LINUX, ask), counts="request_admitted")
        scenario.send(LINUX, frame, (WIRE, frame), counts=f"egress.{counter}")
        scenario.leaves(in_flight=left)


def client_hosts(book: Book) -> None:
    def entry(req_id: int) -> list[Any]:
        value = fingerprint(req_id)
        return [slot_of(value, 16), f"{answered_key(value):#x}"]

    first, second = response(0, req_id=9, clo=1), response(1, req_id=9, clo=2)
    for name, node in (
        ("broadcast", replace(C1, mac=BROADCAST)),
        ("another-ipv4", replace(C1, ip4="10.0.1.9")),
    ):
        frame = first.but(dst=node)
        book.client(
            f"not-for-host-{name}", "counts as no answer", mac=C1.mac, addresses=[C1.ip4, C1.ip6]
        ).passes(WIRE, frame, "not_for_host")
    foreign = first.but(switch_id=9)
    book.client(
        "foreign-response", "not from our ToR: delivered, counts as no answer", switch_id=0
    ).passes(WIRE, foreign, "foreign_switch").send(
        WIRE, second, (LINUX, second), counts="response_delivered"
    ).leaves(answered=[entry(9)])
    ours = first.but(switch_id=9)
    book.client("claimed-response", "from our ToR", switch_id=9).send(
        WIRE, ours, (LINUX, ours), counts="response_delivered"
    ).drops(WIRE, ours.but(clo=2), "dropped_already_answered").leaves(answered=[entry(9)])
    error = first.but(flags=4)
    book.client("failed-is-not-an-answer", "FAILED does not count as the first").send(
        WIRE, error, (LINUX, error), counts="response_delivered"
    ).send(WIRE, second, (LINUX, second), counts="response_delivered").drops(
        WIRE, error, "dropped_already_answered"
    ).leaves(answered=[entry(9)])
    unknown = request(src=C1, dst=ANY, grp=0)
    book.client("knows-itself-and-stamps", "egress is always its own", mac=C1.mac).send(
        LINUX, unknown, (WIRE, unknown.but(grp=1)), counts="egress.request_stamped", chosen=True
    )
