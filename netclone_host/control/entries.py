# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The desired contents of a switch's tables, as plain data, and the difference of two such plans.

Four words describe every switch: a table, what an entry matches, an action, its parameters. A
register or an array map is a table matched by index; the default action of a P4 table is an
entry that matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Value = int | str
"""A number, or an address or port name as text."""

Fields = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, order=True)
class Key:
    """An entry's table and what it matches, in the table's order of fields."""

    table: str
    match: Fields = ()

    def __str__(self) -> str:
        return f"{self.table}[{text_of(self.match) if self.match else 'default'}]"


@dataclass(frozen=True)
class Action:
    """What an entry does."""

    name: str
    params: Fields = ()

    def __str__(self) -> str:
        return f"{self.name}({text_of(self.params)})"


@dataclass(frozen=True, order=True)
class Replica:
    """A member of a multicast group: one packet out of one port."""

    port: int
    rid: int = 0

    def __str__(self) -> str:
        return f"port {self.port} rid {self.rid}"


@dataclass(frozen=True)
class Plan:
    """Everything that the control plane writes into a switch."""

    entries: Mapping[Key, Action] = field(default_factory=dict)
    multicast: Mapping[int, tuple[Replica, ...]] = field(default_factory=dict)

    def table(self, name: str) -> dict[Key, Action]:
        """The entries of one table."""
        return {key: action for key, action in self.entries.items() if key.table == name}


@dataclass(frozen=True)
class Changes:
    """The step from one plan to another."""

    insert: Mapping[Key, Action] = field(default_factory=dict)
    modify: Mapping[Key, Action] = field(default_factory=dict)
    delete: tuple[Key, ...] = ()
    multicast: Mapping[int, tuple[Replica, ...]] = field(default_factory=dict)
    """Groups that are new or have other members."""
    delete_multicast: tuple[int, ...] = ()

    def __len__(self) -> int:
        changed = len(self.insert) + len(self.modify) + len(self.delete)
        return changed + len(self.multicast) + len(self.delete_multicast)

    def lines(self) -> Iterator[str]:
        """One line per change, for people: + new, ~ changed, - gone."""
        yield from (f"- {key}" for key in self.delete)
        yield from (f"- multicast {group}" for group in self.delete_multicast)
        yield from (f"~ {key} = {action}" for key, action in self.modify.items())
        yield from (f"+ {key} = {action}" for key, action in self.insert.items())
        for group, replicas in self.multicast.items():
            yield f"+ multicast {group} = {', '.join(map(str, replicas))}"


def difference(current: Plan, desired: Plan) -> Changes:
    """What has to be written and nothing else: applying a plan twice changes nothing."""
    return Changes(
        insert={k: v for k, v in desired.entries.items() if k not in current.entries},
        modify={k: v for k, v in desired.entries.items() if current.entries.get(k, v) != v},
        delete=tuple(k for k in current.entries if k not in desired.entries),
        multicast={g: r for g, r in desired.multicast.items() if current.multicast.get(g) != r},
        delete_multicast=tuple(g for g in current.multicast if g not in desired.multicast),
    )


def text_of(fields: Fields) -> str:
    return ", ".join(f"{name}={value}" for name, value in fields)
