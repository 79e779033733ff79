# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checksums of rewritten packets, native and generic mode."""

from tests.conformance.frames import ANY, Frame, request, response, server
from tests.conformance.writing import Book

S0, S1 = server(0), server(1)


def cloned(
    book: Book, name: str, why: str, ask: Frame, generic: bool = False, checksum: str | None = None
) -> None:
    """ask is cloned; what leaves carries the checksum named, or the one it came with."""
    first = ask.to(S0, req_id=1 if not ask.header.flags & 2 else ask.header.req_id, clo=1, sid=1)
    if checksum:
        first = first.but(checksum=checksum)
    book.switch(name, why, generic=generic).send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=0 if ask.header.flags & 2 else 1)


def write(book: Book) -> None:
    native(book)
    generic(book)
    extremes(book)


def native(book: Book) -> None:
    for v6 in (False, True):
        family = "ipv6" if v6 else "ipv4"
        partial = "a redirected frame loses the mark: the sum is computed in full"
        cloned(
            book,
            f"udp-partial-{family}",
            partial,
            request(v6=v6, checksum="partial"),
            checksum="full",
        )
        tcp = request(v6=v6, tcp=True, flags=2, client_id=1, req_id=6, checksum="partial")
        cloned(book, f"tcp-partial-{family}", partial, tcp, checksum="full")
        odd = request(v6=v6, checksum="partial", payload=b"odd")
        cloned(book, f"udp-partial-odd-length-{family}", partial, odd, checksum="full")
        padded = request(v6=v6, checksum="partial", payload=b"", padding=b"\xff" * 9)
        cloned(
            book, f"udp-partial-padded-{family}", "padding is not summed", padded, checksum="full"
        )
    cloned(book, "udp-zero-ipv4", "UDP over IPv4 may go without", request(checksum="none"))
    cloned(
        book,
        "udp-zero-ipv6",
        "UDP over IPv6 may not: computed in full",
        request(v6=True, checksum="none"),
        checksum="full",
    )
    write = request(flags=1, dst=S1, checksum="partial")
    book.switch("no-clone-partial", "also where the destination is left alone").send(
        7, write, (2, write.but(req_id=1, checksum="full")), counts="no_clone"
    ).leaves(sequence=1)
    odd = request(flags=1, dst=S1, ip=(("chksum", 0xFFFF),))
    book.switch("no-clone-ip-checksum", "an IP header that does not change keeps its sum").send(
        7, odd, (2, odd.but(req_id=1)), counts="no_clone"
    ).leaves(sequence=1)
    ask = request(checksum="partial")
    book.switch(
        "not-cloned-partial", "also for a single copy", state={"0": 1, "1": 0, "2": 0}
    ).send(7, ask, (1, ask.to(S0, req_id=1, checksum="full")), counts="not_cloned").leaves(
        sequence=1
    )
    answer = response(0, req_id=4, checksum="partial")
    for generic in (False, True):
        sent = answer if generic else answer.but(checksum="full")
        book.switch(
            f"response-partial{'-generic' if generic else ''}",
            "a redirected frame loses the mark, except in generic mode",
            generic=generic,
        ).send(1, answer, (7, sent), counts="response_forwarded")
        bare = response(0, req_id=4, v6=True, checksum="none")
        book.switch(
            f"response-zero-ipv6{'-generic' if generic else ''}",
            "UDP over IPv6 may not go without",
            generic=generic,
        ).send(1, bare, (7, bare.but(checksum="full")), counts="response_forwarded")
    blank = response(0, req_id=4, v6=True, payload=b"\0\0")
    word = l4_sum(blank).to_bytes(2, "big")  # adding it to the data takes the sum to 0
    full, bare = blank.but(payload=word), blank.but(payload=word, checksum="none")
    assert l4_sum(full) == 0xFFFF
    book.switch("response-zero-ipv6-comes-to-0", "a sum of 0 that was left out: 0xffff").send(
        1, bare, (7, full), counts="response_forwarded"
    )
    to_linux = answer.but(dst=ANY)
    book.switch("response-partial-to-linux", "what Linux forwards keeps its mark").send(
        1, to_linux, (0, to_linux), counts="response_forwarded"
    )
    none = response(0, req_id=4, checksum="none")
    book.switch("response-zero-ipv4", "without a checksum it stays").send(
        1, none, (7, none), counts="response_forwarded"
    )


def generic(book: Book) -> None:
    for v6 in (False, True):
        family = "ipv6" if v6 else "ipv4"
        cloned(
            book, f"generic-full-{family}", "a full sum is updated", request(v6=v6), generic=True
        )
        cloned(
            book,
            f"generic-partial-{family}",
            "the mark survives: a partial sum stays one",
            request(v6=v6, checksum="partial"),
            generic=True,
        )
        tcp = request(v6=v6, tcp=True, flags=2, client_id=1, req_id=6, checksum="partial")
        cloned(book, f"generic-tcp-partial-{family}", "the mark survives", tcp, generic=True)
    cloned(book, "generic-zero-ipv4", "none stays none", request(checksum="none"), generic=True)
    cloned(
        book,
        "generic-zero-ipv6",
        "none is not allowed over IPv6",
        request(v6=True, checksum="none"),
        generic=True,
        checksum="full",
    )
    book.switch(
        "generic-ambiguous", "partial by value and correct in full: untouched", generic=True
    ).passes(7, both_ways(request()), "checksum_ambiguous")
    write = request(flags=1, dst=S1)
    book.switch("generic-ambiguous-no-clone", "also with NO_CLONE", generic=True).passes(
        7, both_ways(write), "checksum_ambiguous"
    )
    cloned(book, "native-ambiguous", "computed in full with the same result", both_ways(request()))


def both_ways(frame: Frame) -> Frame:
    """The frame with two payload bytes chosen so that its full checksum has the value of
    its partial sum."""
    blank = frame.but(payload=b"\0\0")
    # Adding x to the data takes x off the checksum, in one's complement.
    word = (l4_sum(blank) - l4_sum(blank.but(checksum="partial"))) % 0xFFFF
    chosen = frame.but(payload=word.to_bytes(2, "big"))
    assert l4_sum(chosen) == l4_sum(chosen.but(checksum="partial"))
    return chosen


def l4_sum(frame: Frame) -> int:
    at = 14 + (40 if frame.v6 else 20) + (16 if frame.tcp else 6)
    return int.from_bytes(frame.bytes()[at : at + 2], "big")


def extremes(book: Book) -> None:
    """Payloads for which the checksum that leaves is 0xffff (UDP's way to write 0)."""
    for v6 in (False, True):
        ask = request(v6=v6, payload=b"\0\0")
        leaves = l4_sum(ask.to(S0, req_id=1, clo=1, sid=1))
        ask = ask.but(payload=(leaves % 0xFFFF).to_bytes(2, "big"))
        assert l4_sum(ask.to(S0, req_id=1, clo=1, sid=1)) in (0, 0xFFFF)
        cloned(
            book,
            f"udp-sum-becomes-ffff-ipv{6 if v6 else 4}",
            "a computed UDP checksum of 0 is sent as 0xffff",
            ask,
        )
        came = l4_sum(request(v6=v6, payload=b"\0\0"))
        ask = request(v6=v6, payload=(came % 0xFFFF).to_bytes(2, "big"))
        assert l4_sum(ask) in (0, 0xFFFF)
        cloned(book, f"udp-sum-was-ffff-ipv{6 if v6 else 4}", "it arrives as 0xffff", ask)
    tcp = request(tcp=True, flags=2, client_id=1, req_id=6, payload=b"\0\0")
    leaves = l4_sum(tcp.to(S0, clo=1, sid=1))
    tcp = tcp.but(payload=(leaves % 0xFFFF).to_bytes(2, "big"))
    cloned(book, "tcp-sum-becomes-0", "TCP writes 0 as 0", tcp)
    wrong = request(checksum="wrong")
    cloned(book, "udp-wrong-stays-wrong", "updated, not repaired: the receiver must notice", wrong)
