# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The P4 text against the C headers and the control plane: always run, no compiler."""

from __future__ import annotations

import re

import pytest

from netclone_host import counters
from netclone_host.control import limits
from netclone_host.control.p4 import plan
from netclone_host.control.p4.schema import TABLES, settings_schema
from netclone_host.wire import HEADER_LEN
from tests.p4 import p4_text
from tests.p4.p4_text import P4, C

ARCHITECTURES = ("v1model", "tna")
WIRE = p4_text.text(P4 / "shared" / "wire.p4")
WIRE_H = p4_text.text(C / "wire.h")


def test_header_is_that_of_wire_h() -> None:
    assert p4_text.header(WIRE, "netclone_h") == p4_text.c_fields(WIRE_H, "nc_header")
    bits = sum(width for _, width in p4_text.header(WIRE, "netclone_h"))
    assert bits == 8 * p4_text.constants(WIRE)["NC_HEADER_LEN"]


def test_constants_are_those_of_wire_h() -> None:
    in_c = p4_text.enumerators(WIRE_H) | p4_text.macros(WIRE_H)
    in_p4 = p4_text.constants(WIRE)
    assert len(in_p4) == 9
    assert in_p4 == {name: in_c[name] for name in in_p4}


def test_limits_are_those_of_limits_h() -> None:
    in_c = p4_text.macros(p4_text.text(C / "limits.h"))
    in_p4 = p4_text.constants(p4_text.text(P4 / "shared" / "limits.p4"))
    assert in_p4["NC_MAX_SERVERS"] == in_c["NC_MAX_SERVERS"]
    assert in_p4["NC_MAX_GROUPS"] == in_c["NC_MAX_SERVERS"] * (in_c["NC_MAX_SERVERS"] - 1)
    assert in_p4["NC_MAX_PORTS"] == in_c["NC_MAX_PORTS"]
    slots = p4_text.macros(p4_text.text(P4 / "shared" / "limits.p4"))["NC_FILTER_SLOTS_LOG2"]
    assert slots == in_c["NC_FILTER_SLOTS_LOG2"] and 1 << slots == limits.FILTER_SLOTS
    v1model = p4_text.constants(p4_text.everything("v1model"))
    assert v1model["MAX_L4_LEN"] == in_c["NC_MAX_L4_LEN"]
    assert v1model["REQUEST_SLOTS"] == 1 << in_c["NC_REQUEST_SLOTS_LOG2"]
    assert v1model["FDB_SLOTS"] == 1 << in_c["NC_FDB_SLOTS_LOG2"] == plan.FDB_SLOTS


def test_counters_have_the_names_of_counters_h() -> None:
    source = p4_text.text(P4 / "shared" / "counters.p4")
    reasons = {
        name.removeprefix("NC_CTR_"): value
        for name, value in p4_text.constants(source).items()
        if name.startswith("NC_CTR_")
    }
    numbers = {name: number for number, name in enumerate(counters.names())}
    assert reasons == {name: numbers[name] for name in reasons}
    assert max(reasons.values()) < p4_text.constants(source)["REASON_COUNT"]
    used = set(re.findall(r"NC_CTR_(\w+)", p4_text.everything("v1model")))
    assert used == set(reasons)


def test_metadata_numbers_are_those_of_the_control_plane() -> None:
    in_p4 = p4_text.constants(p4_text.text(P4 / "shared" / "metadata.p4"))
    assert in_p4["MULTICAST_FLOOD"] == plan.MULTICAST_FLOOD
    assert "MULTICAST_OF(server) (8w1 ++ server)" in (P4 / "shared" / "metadata.p4").read_text()
    assert plan.MULTICAST_OF_SERVER == 1 << 8
    v1model = p4_text.constants(p4_text.everything("v1model"))
    assert v1model["REPLICA_CLONE"] == plan.REPLICA_CLONE
    recirculation = re.search(
        r"define NETCLONE_RECIRCULATION_PORT (\d+)", p4_text.everything("tna")
    )
    assert recirculation and int(recirculation[1]) == plan.TOFINO.clone_port


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_schema_is_that_of_the_tables(architecture: str) -> None:
    source = p4_text.everything(architecture)
    tables, actions = p4_text.tables(source), p4_text.actions(source)
    settings = settings_schema(fixed_filter_slots=architecture == "tna")
    for full_name, schema in {**TABLES, "SwitchIngress.settings": settings}.items():
        table = tables[full_name.rpartition(".")[2]]
        assert table.keys == tuple(field.p4_name for field in schema.match), full_name
        for name, params in schema.actions.items():
            assert name in table.actions
            wanted = tuple(param.name for param in params)
            if full_name != "SwitchIngress.settings":
                assert actions[name] == wanted
    configure = p4_text.actions(p4_text.text(P4 / architecture / "netclone.p4"))["configure"]
    assert configure == tuple(param.name for param in settings.actions["configure"])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sizes_are_those_of_the_tables(architecture: str) -> None:
    source = p4_text.everything(architecture)
    tables, known = p4_text.tables(source), p4_text.constants(source)
    for name, size in limits.P4_TABLES.items():
        declared = tables[name].size
        assert (int(declared) if declared.isdecimal() else known[declared]) == size, name


def test_filter_tables_are_those_that_are_compiled_in() -> None:
    assert _default_filter_tables("shared/limits.p4") == limits.TOFINO_FILTER_TABLES
    assert _default_filter_tables("v1model/netclone.p4") == limits.BMV2_FILTER_TABLES


def _default_filter_tables(path: str) -> int:
    return p4_text.macros(p4_text.text(P4 / path))["NETCLONE_FILTER_TABLES"]


@pytest.mark.parametrize(
    ("state", "room", "longest"), [("tcp_over_ipv4", 68, 4116), ("tcp_over_ipv6", 48, 4096)]
)
def test_parser_knows_when_tcp_has_no_room_for_the_header(
    state: str, room: int, longest: int
) -> None:
    """The ternary entries, for every data offset and every length up to where they end."""
    source = p4_text.text(P4 / "shared" / "parser.p4")
    body = re.search(rf"state {state} \{{(.*?)default", source, re.DOTALL)
    assert body
    entries = [
        (_ternary(offset, 15), _ternary(length, 0xFFFF), target)
        for offset, length, target in re.findall(r"\(([^,()]+), ([^()]+)\): (\w+);", body[1])
    ]
    assert len(entries) > 10
    for offset in range(16):
        for length in [*range(256), 0x100, *range(4090, 4200), 0x1FFF, 0x2000, 0xFFFF]:
            short = length < room + 4 * (offset - 5)
            beyond = offset < 5 or length > longest or length < room - HEADER_LEN + 4 * (offset - 5)
            expected = "bad_length" if beyond else "accept" if short else "tcp_options"
            assert _select(entries, offset, length) == expected, (offset, length)


Ternary = tuple[int, int]


def _select(entries: list[tuple[Ternary, Ternary, str]], offset: int, length: int) -> str:
    for (value, mask), (other_value, other_mask), target in entries:
        if offset & mask == value and length & other_mask == other_value:
            return target
    return "tcp_options"


def _ternary(text: str, exact: int) -> Ternary:
    if text == "_":
        return 0, 0
    value, _, mask = text.partition("&&&")
    return int(value, 0), int(mask, 0) if mask else exact
