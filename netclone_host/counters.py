# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The counters of the data plane: one for each reason why a packet went where it went.

The list is read from ``xdp/include/netclone/counters.h``, so that it exists once.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

HEADER = Path(__file__).resolve().parent.parent / "xdp/include/netclone/counters.h"

_ENTRY = re.compile(r'^\s*X\((?P<name>\w+),\s*"(?P<text>[^"]*)"\)', re.MULTILINE)


class Hook(enum.IntEnum):
    """Where a program runs; each hook has its own set of counters (enum nc_hook)."""

    INGRESS = 0
    EGRESS = 1
    CLONE = 2

    @property
    def label(self) -> str:
        return self.name.lower()


@functools.cache
def descriptions() -> dict[str, str]:
    """Name of each counter -> what it counts, in the order of enum nc_counter."""
    return {entry["name"]: entry["text"] for entry in _ENTRY.finditer(HEADER.read_text())}


@functools.cache
def names() -> tuple[str, ...]:
    """Counter names, in the order of enum nc_counter."""
    return tuple(descriptions())


def by_name(values: Sequence[int]) -> dict[str, int]:
    """Values in the order of enum nc_counter -> a table by name, zeros included."""
    return dict(zip(names(), values, strict=True))


def total(table: Mapping[str, int]) -> int:
    """Packets that a hook has seen: every packet ends in exactly one counter."""
    return sum(table.values())


def nonzero(table: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in table.items() if value}
