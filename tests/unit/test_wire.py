# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Python codec and the scapy layer against the C header."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclone_host import wire
from netclone_host.wire import Clo, Flag, Header, Type

WIRE_H = (Path(__file__).parents[2] / "xdp/include/netclone/wire.h").read_text()


def c_constant(name: str) -> int:
    match = re.search(rf"\b{name}(?:\s*=)?\s+\(?(1 << \d+|\d+)", WIRE_H)
    assert match, f"{name} is not in wire.h"
    value = match[1]
    return 1 << int(value.split("<<")[1]) if "<<" in value else int(value)


def test_offsets_are_those_of_the_c_header() -> None:
    in_c = {name: int(at) for name, at in re.findall(r"NC_OFFSET_IS\((\w+), (\d+)\);", WIRE_H)}
    assert {name: at for name, (at, _) in wire.offsets().items()} == in_c


def test_sizes_are_those_of_the_c_header() -> None:
    size_of = {"nc_u8": 1, "nc_be16": 2, "nc_be32": 4}
    body = WIRE_H.split("struct nc_header {")[1].split("};")[0]
    in_c = {name: size_of[kind] for kind, name in re.findall(r"(nc_\w+) (\w+);", body)}
    assert {name: size for name, (_, size) in wire.offsets().items()} == in_c


def test_constants_are_those_of_the_c_header() -> None:
    assert c_constant("NC_DEFAULT_PORT") == wire.DEFAULT_PORT
    assert c_constant("NC_HEADER_LEN") == wire.HEADER_LEN
    for prefix, kinds in (("NC_TYPE_", Type), ("NC_CLO_", Clo), ("NC_FLAG_", Flag)):
        for kind in kinds:  # type: ignore[attr-defined]
            assert c_constant(prefix + kind.name) == kind.value


def test_a_prototype_packet_is_read_as_its_seven_words() -> None:
    # op=1 seq=7 grp=3 sid=2 load=5 clo=1 tidx=1, as the published prototype sends them.
    words = b"".join(value.to_bytes(4, "big") for value in (1, 7, 3, 2, 5, 1, 1))
    assert Header.decode(words) == Header(
        type=Type.RESP, req_id=7, grp=3, sid=2, state=5, clo=Clo.ORIGINAL, idx=1
    )


@given(st.binary(min_size=28, max_size=60))
def test_any_28_bytes_survive(payload: bytes) -> None:
    assert Header.decode(payload).encode() == payload[:28]


def test_too_short() -> None:
    with pytest.raises(ValueError, match="27 bytes"):
        Header.decode(bytes(27))


def test_a_value_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Header(idx=256).encode()


@given(st.binary(min_size=28, max_size=28))
def test_the_scapy_layer_is_the_same_codec(payload: bytes) -> None:
    from netclone_host.wire_scapy import NetClone

    layer = NetClone(payload)
    header = Header.decode(payload)
    assert bytes(layer) == payload
    for name in wire.FIELDS:
        assert int(getattr(layer, name)) == getattr(header, name)


def test_scapy_finds_the_header_behind_the_port() -> None:
    from scapy.layers.inet import IP, UDP

    from netclone_host.wire_scapy import NetClone

    packet = IP(bytes(IP() / UDP(sport=5000, dport=1000) / NetClone(grp=4, idx=1) / b"body"))
    assert packet[NetClone].grp == 4
    assert bytes(packet[NetClone].payload) == b"body"
