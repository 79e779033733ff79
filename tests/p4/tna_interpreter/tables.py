# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Match tables: constant entries, and those that the control plane has written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.p4.tna_interpreter.ir import Node, control_plane_name
from tests.p4.tna_interpreter.values import Value

if TYPE_CHECKING:
    from tests.p4.tna_interpreter.machine import Machine


@dataclass(frozen=True)
class Applied:
    """What applying a table came to; `action` is the action's name in the program."""

    hit: bool
    action: str


class FullError(Exception):
    """More entries than the table is declared for."""


@dataclass
class Table:
    """One table. Entries of the control plane are written by full names."""

    node: Node
    actions: dict[str, Node]
    """Control-plane name -> action."""
    written: dict[tuple[int, ...], tuple[Node, list[int]]] = field(default_factory=dict)
    default: tuple[Node, list[int]] | None = None

    @property
    def properties(self) -> dict[str, Node]:
        return {entry.name: entry for entry in self.node.properties.properties}

    def size(self) -> int:
        found = self.properties.get("size")
        return int(found.value.expression.value) if found else 512

    def write(self, match: tuple[int, ...], action: str, values: list[int]) -> None:
        """Add an entry of exact matches, or replace it; () is the default action."""
        entry = (self.actions[action], values)
        if not match:
            found = self.properties.get("default_action")
            assert found is None or not found.isConstant, f"{self.node!r}: constant default action"
            self.default = entry
            return
        assert all(key.matchType.path.name == "exact" for key in self._keys()), self.node
        self.written[match] = entry
        if len(self.written) > self.size():
            raise FullError(f"{self.node!r} holds {self.size()} entries")

    def clear(self) -> None:
        self.written.clear()
        self.default = None

    def _keys(self) -> list[Node]:
        found = self.properties.get("key")
        return list(found.value.keyElements) if found else []

    def apply(self, machine: Machine) -> Applied:
        values = [int(machine.value(key.expression)) for key in self._keys()]
        if self.written:
            if (found := self.written.get(tuple(values))) is not None:
                machine.act(*found)
                return Applied(True, found[0].name)
        elif (call := self._constant(machine, values)) is not None:
            return Applied(True, self._call(machine, call))
        if self.default is not None:
            machine.act(*self.default)
            return Applied(False, self.default[0].name)
        default = self.properties.get("default_action")
        if default is None:
            return Applied(False, "NoAction")
        return Applied(False, self._call(machine, default.value.expression))

    def _call(self, machine: Machine, call: Node) -> str:
        if call.kind == "PathExpression":
            machine.act(machine.scope[call.path.name], [])
            return str(call.path.name)
        action = machine.scope[call.method.path.name]
        machine.act(action, [machine.value(argument.expression) for argument in call.arguments])
        return str(action.name)

    def _constant(self, machine: Machine, values: list[int]) -> Node | None:
        """The first constant entry that matches."""
        entries = self.properties.get("entries")
        for entry in entries.value.entries if entries else []:
            keys = entry.keys.components
            if all(matches(machine, key, value) for key, value in zip(keys, values, strict=True)):
                action: Node = entry.action
                return action
        return None


def matches(machine: Machine, key: Node, value: Value) -> bool:
    """Whether a keyset of a table or of a parser's select has the value."""
    if key.kind == "DefaultExpression":
        return True
    if key.kind == "Mask":
        bits = machine.value(key.right)
        return bool(value & bits == machine.value(key.left) & bits)
    if key.kind == "Range":
        return bool(machine.value(key.left) <= value <= machine.value(key.right))
    return bool(value == machine.value(key))


def tables_of(control: Node) -> dict[str, Table]:
    """The tables of a control, by their names in the program."""
    local = control.controlLocals
    actions = {control_plane_name(node): node for node in local if node.kind == "P4Action"}
    return {node.name: Table(node, actions) for node in local if node.kind == "P4Table"}


def by_full_name(tables: dict[str, Table]) -> dict[str, Any]:
    """The same by the control plane's names."""
    return {control_plane_name(table.node): table for table in tables.values()}
