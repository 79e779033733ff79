# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets that must pass untouched, in the order of the checks (section Parsing)."""

from tests.conformance.frames import Frame, request, response, server
from tests.conformance.writing import Book, held

S0, S1 = server(0), server(1)


def write(book: Book) -> None:
    link(book)
    ipv4(book)
    ipv6(book)
    transport(book)
    header(book)


def link(book: Book) -> None:
    whole = request().bytes()
    for length in (14, 15, 33, 34, 41):
        book.switch(f"runt-{length}-bytes", "the frame ends inside a header").passes(
            7, whole[:length], "runt"
        )
    tagged = request(vlans=((0x8100, 5),)).bytes()
    for length in (16, 17, 37):
        book.switch(f"runt-tagged-{length}-bytes", "it ends inside the tag or behind it").passes(
            7, tagged[:length], "runt"
        )
    arp = bytes.fromhex("ffffffffffff0200000001010806") + bytes(46)
    book.switch("arp", "ordinary traffic is left to Linux").passes(7, arp, "not_netclone")
    three = request(vlans=((0x88A8, 1), (0x8100, 2), (0x8100, 3)))
    book.switch("three-vlan-tags", "at most two are looked behind").passes(7, three, "not_netclone")
    other = request().bytes()
    book.switch("unknown-ethertype", "neither IPv4 nor IPv6").passes(
        7, other[:12] + b"\x88\xb5" + other[14:], "not_netclone"
    )


def ipv4(book: Book) -> None:
    def patched(at: int, value: int, frame: Frame | None = None) -> bytes:
        whole = bytearray((frame or request()).bytes())
        whole[14 + at] = value
        return bytes(whole)

    book.switch("ipv4-version-5", "the version field disagrees").passes(
        7, patched(0, 0x55), "not_netclone"
    )
    for words in (0, 4):
        book.switch(f"ipv4-ihl-{words}", "header shorter than itself").passes(
            7, patched(0, 0x40 | words), "runt"
        )
    for words in range(6, 16):
        options = (words - 5) * 4
        frame = request(ip=(("options", []), ("ihl", words))).bytes()
        book.switch(f"ip-options-{options}-bytes", "options in every length pass").passes(
            7, frame[:34] + b"\x01" * options + frame[34:], "ip_options"
        )
    book.switch("fragment-first", "more fragments").passes(
        7, request(ip=(("flags", 1),)), "fragment"
    )
    for offset in (1, 185, 8191):
        book.switch(f"fragment-offset-{offset}", "its bytes look like the header").passes(
            7, request(ip=(("frag", offset),)), "fragment"
        )
    ask = request(ip=(("flags", 2),))
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("dont-fragment", "DF is no fragment").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    for name, frame in (
        ("more-than-the-frame", request(ip=(("len", 2000),))),
        ("less-than-udp", request(ip=(("len", 60),))),
        ("less-than-ip-header", request(ip=(("len", 12),))),
    ):
        book.switch(f"ipv4-length-{name}", "lengths disagree").passes(7, frame, "bad_length")
    icmp = request(ip=(("proto", 1),))
    book.switch("icmp", "neither UDP nor TCP").passes(7, icmp, "not_netclone")
    book.switch("sctp", "neither UDP nor TCP").passes(
        7, request(ip=(("proto", 132),)), "not_netclone"
    )


def ipv6(book: Book) -> None:
    for kind in (0, 43, 50, 51, 60, 135, 139, 140):
        book.switch(f"ipv6-extension-{kind}", "an extension header stands between").passes(
            7, request(v6=True, ip=(("nh", kind),)), "ipv6_extension"
        )
    book.switch("ipv6-fragment", "next header 44").passes(
        7, request(v6=True, ip=(("nh", 44),)), "fragment"
    )
    book.switch("ipv6-icmp", "neighbour discovery is left to Linux").passes(
        7, request(v6=True, ip=(("nh", 58),)), "not_netclone"
    )
    book.switch("ipv6-version-4", "the version field disagrees").passes(
        7, request(v6=True, ip=(("version", 4),)), "not_netclone"
    )
    book.switch("ipv6-length-more-than-the-frame", "lengths disagree").passes(
        7, request(v6=True, ip=(("plen", 1000),)), "bad_length"
    )
    book.switch("ipv6-runt", "it ends inside the IPv6 header").passes(
        7, request(v6=True).bytes()[:53], "runt"
    )
    book.switch("ipv6-runt-udp", "it ends inside the UDP header").passes(
        7, request(v6=True).bytes()[:61], "runt"
    )


def transport(book: Book) -> None:
    book.switch("other-port", "no NetClone port on either side").passes(
        7, request(dport=1001), "not_netclone"
    )
    book.switch("type-req-from-port", "REQ must go to a NetClone port, not come from one").passes(
        7, request(sport=1000, dport=40000), "bad_type"
    )
    book.switch("type-resp-to-port", "RESP must come from a NetClone port").passes(
        7, request(type=1), "bad_type"
    )
    both = request(sport=1000)
    first = both.to(S0, req_id=1, clo=1, sid=1)
    book.switch("both-ports", "a request from port 1000 to port 1000").send(
        7, both, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    for port in (1000, 2000, 65535):
        ask = request(dport=port)
        first = ask.to(S0, req_id=1, clo=1, sid=1)
        book.switch(f"port-{port}-of-three", "several ports", ports=[1000, 2000, 65535]).send(
            7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
        ).leaves(sequence=1)
    book.switch("port-1000-not-served", "only the configured ports", ports=[2000]).passes(
        7, request(), "not_netclone"
    )
    book.switch("port-zero", "unused entries of the list match nothing").passes(
        7, request(sport=0, dport=0), "not_netclone"
    )
    for length in (0, 8, 40, 58, 60, 65535):
        book.switch(f"udp-length-{length}", "UDP length is not what IP says").passes(
            7, request(l4=(("len", length),)), "bad_length"
        )
    for length in (0, 7):
        frame = Frame(header=request().header, ip=(("len", 20 + length),), l4=(("len", length),))
        book.switch(f"udp-length-{length}-as-ip-says", "UDP length below its header").passes(
            7, frame, "bad_length"
        )
    longest = request(payload=bytes(4096 - 8 - 28))
    first = longest.to(S0, req_id=1, clo=1, sid=1)
    book.switch("l4-length-4096", "the longest L4 part").send(
        7, longest, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    book.switch("l4-length-4097", "longer than any native XDP frame").passes(
        7, request(payload=bytes(4097 - 8 - 28)), "bad_length"
    )
    for length in (0, 1, 27):
        cut = 8 + length
        frame = Frame(header=request().header, ip=(("len", 20 + cut),), l4=(("len", cut),))
        book.switch(f"short-payload-{length}", "no room for the 28 bytes").passes(
            7, frame.bytes()[: 34 + cut], "short_payload"
        )


def header(book: Book) -> None:
    for kind in (2, 255):
        book.switch(f"type-{kind}", "neither REQ nor RESP").passes(
            7, request(type=kind), "bad_type"
        )
    for clo in (3, 255):
        book.switch(f"clo-{clo}", "CLO above 2").passes(7, request(clo=clo), "bad_clo")
    for grp in (0, 7, 65281, 0xFFFFFFFF):
        book.switch(f"request-grp-{grp}", "GRP out of range").passes(
            7, request(grp=grp), "bad_group"
        )
        book.switch(
            f"response-grp-{grp}", "GRP out of range", state={"0": 1, "1": 1, "2": 1}
        ).passes(1, response(0, grp=grp, req_id=1, clo=1), "bad_group")
    book.switch("request-sid-256", "SID out of range").passes(7, request(sid=256), "bad_sid")
    ask = request(sid=255)
    first = ask.to(S0, req_id=1, clo=1, sid=1)
    book.switch("request-sid-255", "the highest SID is in range").send(
        7, ask, (1, first), (2, first.to(S1, clo=2)), counts="cloned"
    ).leaves(sequence=1)
    for idx in (2, 255):
        book.switch(f"request-idx-{idx}", "IDX out of range").passes(7, request(idx=idx), "bad_idx")
    book.switch("order-clo-before-grp", "the first check that fails names the counter").passes(
        7, request(clo=3, grp=0, sid=999, idx=9), "bad_clo"
    )
    book.switch("order-grp-before-sid", "the first check that fails names the counter").passes(
        7, request(grp=0, sid=999, idx=9), "bad_group"
    )
    book.switch("order-sid-before-idx", "the first check that fails names the counter").passes(
        7, request(sid=999, idx=9), "bad_sid"
    )
    stale = response(0, req_id=5, clo=1, idx=9)
    book.switch("untouched-changes-nothing", "no table changes", filter=[held(0, 5)]).passes(
        1, stale, "bad_idx"
    )
