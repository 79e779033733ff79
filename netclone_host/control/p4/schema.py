# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tables of the P4 programs that the control plane writes: what they match and what
their actions take. tests/p4/test_lint.py holds this against the P4 text.

A value travels as a number of so many bits; people read and write addresses as text.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from netclone_host.control.entries import Action, Fields, Key, Value


class Kind(enum.Enum):
    """How a field's number is shown."""

    NUMBER = "number"
    MAC = "mac"
    IPV4 = "ipv4"
    IPV6 = "ipv6"

    def to_number(self, value: Value) -> int:
        """The number that goes into the switch."""
        if isinstance(value, int):
            return value
        if self is Kind.MAC:
            return int(value.replace(":", ""), 16)
        if self is Kind.IPV4:
            return int(IPv4Address(value))
        if self is Kind.IPV6:
            return int(IPv6Address(value))
        raise ValueError(f"{value!r} is not a number")

    def to_value(self, number: int) -> Value:
        """The plan's value for a number read from the switch."""
        if self is Kind.MAC:
            return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))
        if self is Kind.IPV4:
            return str(IPv4Address(number))
        if self is Kind.IPV6:
            return str(IPv6Address(number))
        return number


@dataclass(frozen=True)
class Field:
    name: str
    """In the plan: the last part of the P4 expression, or the action's parameter."""
    p4_name: str
    kind: Kind = Kind.NUMBER


@dataclass(frozen=True)
class TableSchema:
    control: str
    """Full name of the control that declares it."""
    match: tuple[Field, ...]
    actions: Mapping[str, tuple[Field, ...]]

    def full_action(self, name: str) -> str:
        """Full name of an action of this table."""
        return name if name == "NoAction" else f"{self.control}.{name}"

    def key_of(self, table: str, numbers: tuple[int, ...]) -> Key:
        fields = zip(self.match, numbers, strict=True)
        return Key(table, tuple((f.name, f.kind.to_value(number)) for f, number in fields))

    def action_of(self, name: str, numbers: tuple[int, ...]) -> Action:
        """From a full action name and its parameters."""
        short = name.rpartition(".")[2]
        fields = zip(self.actions.get(short, ()), numbers, strict=True)
        return Action(short, tuple((f.name, f.kind.to_value(number)) for f, number in fields))


def numbers_of(fields: Fields, schema: tuple[Field, ...]) -> tuple[int, ...]:
    """The plan's values as numbers, in the schema's order."""
    values = dict(fields)
    return tuple(field.kind.to_number(values[field.name]) for field in schema)


def _param(name: str, kind: Kind = Kind.NUMBER) -> Field:
    return Field(name, name, kind)


_MAC, _PORT = _param("mac", Kind.MAC), _param("port")
_DST_MAC = Field("dst_addr", "hdr.ethernet.dst_addr", Kind.MAC)
_OPERANDS, _ADDRESS = "SwitchIngress.operands", "SwitchIngress.address"

TABLES: Mapping[str, TableSchema] = {
    f"{_OPERANDS}.destination_ports": TableSchema(
        _OPERANDS,
        (Field("destination_port", "nc.destination_port"),),
        {"to_netclone": ()},
    ),
    f"{_OPERANDS}.source_ports": TableSchema(
        _OPERANDS, (Field("source_port", "nc.source_port"),), {"from_netclone": ()}
    ),
    f"{_OPERANDS}.groups": TableSchema(
        _OPERANDS,
        (Field("grp", "hdr.netclone.grp"),),
        {
            "candidates": (
                _param("first"),
                _param("second"),
                _param("usable_v4"),
                _param("usable_v6"),
            )
        },
    ),
    f"{_OPERANDS}.filter_tables": TableSchema(
        _OPERANDS, (Field("idx", "hdr.netclone.idx"),), {"filter_exists": ()}
    ),
    f"{_OPERANDS}.switch_ids": TableSchema(
        _OPERANDS,
        (Field("switch_id", "hdr.netclone.switch_id"),),
        {"claimed": (_param("own_id"),)},
    ),
    f"{_OPERANDS}.sources_v4": TableSchema(
        _OPERANDS,
        (
            Field("sid", "hdr.netclone.sid"),
            Field("src_addr", "hdr.ipv4.src_addr", Kind.IPV4),
        ),
        {"source_is_server": ()},
    ),
    f"{_OPERANDS}.sources_v6": TableSchema(
        _OPERANDS,
        (
            Field("sid", "hdr.netclone.sid"),
            Field("src_addr", "hdr.ipv6.src_addr", Kind.IPV6),
        ),
        {"source_is_server": ()},
    ),
    f"{_ADDRESS}.addresses_v4": TableSchema(
        _ADDRESS,
        (Field("chosen", "nc.chosen"),),
        {"to_ipv4": (_param("address", Kind.IPV4), _MAC, _PORT)},
    ),
    f"{_ADDRESS}.addresses_v6": TableSchema(
        _ADDRESS,
        (Field("chosen", "nc.chosen"),),
        {"to_ipv6": (_param("address", Kind.IPV6), _MAC, _PORT)},
    ),
    "SwitchIngress.hosts.hosts": TableSchema(
        "SwitchIngress.hosts", (_DST_MAC,), {"to_port": (_PORT,), "flood": (), "discard": ()}
    ),
}


def settings_schema(fixed_filter_slots: bool) -> TableSchema:
    """The settings differ: BMv2's program takes the number of slots at run time."""
    params: tuple[Field, ...] = (_param("racksched"), _param("cloning"))
    if not fixed_filter_slots:
        params += (_param("filter_slot_mask"),)
    return TableSchema("SwitchIngress", (), {"configure": params})
