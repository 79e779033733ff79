# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""p4c's intermediate representation, as its JSON dump has it: nodes, each written out once and
named by its number wherever it stands again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LISTS = ("Vector<", "IndexedVector<")


class Node:
    """One node; its fields are attributes, lists are lists."""

    __slots__ = ("_fields", "_made", "_nodes", "id", "kind")

    def __init__(self, fields: dict[str, Any], nodes: dict[int, Node]) -> None:
        self.id: int = fields["Node_ID"]
        self.kind: str = fields["Node_Type"]
        self._fields, self._nodes = fields, nodes
        self._made: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in self._made:
            try:
                self._made[name] = _resolved(self._fields[name], self._nodes)
            except KeyError:
                raise AttributeError(f"{self!r} has no {name}") from None
        return self._made[name]

    def get(self, name: str) -> Any:
        """The field, or None."""
        return getattr(self, name) if name in self._fields else None

    def __repr__(self) -> str:
        return f"{self.kind} {self._fields.get('name', '')} #{self.id}"


def _resolved(value: Any, nodes: dict[int, Node]) -> Any:
    if isinstance(value, list):
        return [_resolved(item, nodes) for item in value]
    if isinstance(value, dict) and "variant_index" in value:
        return _resolved(value["value"], nodes)
    if not isinstance(value, dict) or "Node_ID" not in value:
        return value
    node = nodes[value["Node_ID"]]
    if node.kind.startswith(_LISTS):
        return node.vec
    return node


def load(path: Path) -> list[Node]:
    """The program's declarations, in order."""
    root = json.loads(path.read_text())
    nodes: dict[int, Node] = {}
    for fields in _nodes(root):
        nodes[fields["Node_ID"]] = Node(fields, nodes)
    declarations: list[Node] = _resolved(root["objects"], nodes)
    return declarations


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if "Node_Type" in item:
                yield item
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def control_plane_name(node: Node) -> str:
    """What the control plane calls a table, an action or a register: the whole path."""
    for annotation in node.get("annotations") or []:
        if annotation.name == "name":
            return str(annotation.body[0].value).removeprefix(".")
    return str(node.name)
