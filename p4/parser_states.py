# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether a compiled parser looks at what it is to look at.

p4c's Tofino back end of early 2026 (34b86e9, for one) turns every value that a parser state
matches into a wildcard, without a word: such a program takes every frame for the first kind
that it knows. The assembly tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_STATE = re.compile(r"^    (\S+):$")
_ROW = re.compile(r"^      (0[xbo][0-9a-f*]+|\*):")


@dataclass(frozen=True)
class State:
    """A state that matches something: its rows, in the order in which they are tried."""

    name: str
    rows: tuple[str, ...]

    @property
    def is_blind(self) -> bool:
        """It tells nothing from anything, although there is more than one way on."""
        return len(self.rows) > 1 and not any(re.search(r"[0-9a-f]", row[2:]) for row in self.rows)


def ingress_states(assembly: str) -> Iterator[State]:
    """The matching states of the ingress parser of a .bfa text."""
    name, rows, matches = "", [], False
    inside = False
    for line in assembly.splitlines():
        if line.startswith(("parser ", "deparser ", "stage ")):
            inside = line.startswith("parser ingress")
        if not inside:
            continue
        if found := _STATE.match(line):
            if matches:
                yield State(name, tuple(rows))
            name, rows, matches = found[1], [], False
        elif line.startswith("      match:"):
            matches = True
        elif found := _ROW.match(line):
            rows.append(found[1])
    if matches:
        yield State(name, tuple(rows))


def fault(assembly: str) -> str:
    """What is wrong with the parser's states, in a sentence; empty if nothing is."""
    states = list(ingress_states(assembly))
    if not states:
        return "no state of the ingress parser matches anything"
    if blind := [state.name for state in states if state.is_blind]:
        return (
            f"{len(blind)} of {len(states)} parser states match wildcards only "
            f"({', '.join(blind[:3])}): a fault of this compiler, see docs/p4.md"
        )
    values = {row for state in states for row in state.rows}
    for what, value in (("IPv4", "0x0800"), ("IPv6", "0x86dd")):
        if value not in values:
            return f"no parser state matches the ether type of {what}, {value}"
    return ""
