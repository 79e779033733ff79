# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a P4 program computes with: numbers of so many bits, structures and headers."""

from __future__ import annotations

import copy
from typing import Any

from tests.p4.tna_interpreter.ir import Node

Value = Any
"""int for bit<n>, bool, Struct, Header, or a list of values for a tuple."""

GARBAGE = 0xA5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5
"""What a header that is not valid holds: a program that depends on it shows."""


class Struct(dict[str, Value]):
    """Field -> value, in the order of the declaration."""


class Header(Struct):
    """A structure that is valid or not, and knows the widths of its fields."""

    def __init__(self, fields: dict[str, Value], widths: dict[str, int]) -> None:
        super().__init__(fields)
        self.widths = widths
        self.valid = False

    def __deepcopy__(self, memo: dict[int, Any]) -> Header:
        made = Header(dict(self), self.widths)
        made.valid = self.valid
        return made

    def invalidate(self) -> None:
        self.valid = False
        for name, width in self.widths.items():
            self[name] = GARBAGE & mask(width)

    def pack(self) -> tuple[int, int]:
        """The header's bits as a number, and how many there are."""
        number = 0
        for name, width in self.widths.items():
            number = number << width | self[name]
        return number, sum(self.widths.values())

    def unpack(self, number: int) -> None:
        for name, width in reversed(self.widths.items()):
            self[name] = number & mask(width)
            number >>= width
        self.valid = True


def mask(width: int) -> int:
    return (1 << width) - 1


def copied(value: Value) -> Value:
    return copy.deepcopy(value) if isinstance(value, Struct | list) else value


class Types:
    """The program's types by name."""

    def __init__(self, declarations: list[Node]) -> None:
        self._named = {node.name: node for node in declarations if node.kind.startswith("Type_")}

    def resolved(self, node: Node) -> Node:
        """Behind typedefs, newtypes and names."""
        while True:
            if node.kind == "Type_Name":
                node = self._named[node.path.name]
            elif node.kind in ("Type_Typedef", "Type_Newtype") or node.kind == "Type_SerEnum":
                node = node.type
            else:
                return node

    def width(self, node: Node) -> int:
        """Of bit<n>, of a boolean (1), of a header."""
        kind = self.resolved(node)
        if kind.kind == "Type_Bits":
            return int(kind.size)
        if kind.kind == "Type_Boolean":
            return 1
        return sum(self.width(field.type) for field in kind.fields)

    def wrapped(self, node: Node, number: int) -> int:
        """The number as the type holds it: int<n> is a two's complement."""
        kind = self.resolved(node)
        number &= mask(kind.size)
        return number - (1 << kind.size) if kind.isSigned and number >> kind.size - 1 else number

    def fresh(self, node: Node) -> Value:
        """A value that nothing was written to: metadata starts as 0 on this target."""
        kind = self.resolved(node)
        if kind.kind == "Type_Bits":
            return 0
        if kind.kind == "Type_Boolean":
            return False
        if kind.kind == "Type_Header":
            widths = {field.name: self.width(field.type) for field in kind.fields}
            made = Header(dict.fromkeys(widths, 0), widths)
            made.invalidate()
            return made
        if kind.kind == "Type_Struct":
            return Struct({field.name: self.fresh(field.type) for field in kind.fields})
        if kind.kind in ("Type_Enum", "Type_Error"):
            return ""
        raise NotImplementedError(f"a value of {kind!r}")
