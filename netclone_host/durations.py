# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Durations as users write them, a number with a unit: `25us`, `1.5ms`."""

from __future__ import annotations

import re

from netclone_host.errors import UserError

UNITS_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}

LONGEST_NS = 1e18
"""A few of them still add up to a time in 64 bits."""

_DURATION = re.compile(r"([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([a-zµ]*)")


def parse_duration_ns(
    text: str, what: str = "duration", *, longest_ns: float = LONGEST_NS
) -> float:
    """`text` in nanoseconds, always above 0; errors call it `what`.

    Raises `UserError` for anything but a positive number with a unit of `UNITS_NS`, and for more
    than `longest_ns`; a caller that checks its own bound passes math.inf.
    """
    units = ", ".join(UNITS_NS)
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{what}: '{text}' is not a duration", f"write it as 25us (units: {units})")
    number, unit = match.groups()
    unit = unit.replace("µ", "u")
    if unit not in UNITS_NS:
        problem = f"has an unknown unit '{unit}'" if unit else "has no unit"
        raise UserError(f"{what}: '{text}' {problem}", f"units are {units}")
    value = float(number) * UNITS_NS[unit]
    if value <= 0:
        raise UserError(f"{what}: '{text}' is not above 0", "write it as 25us")
    if value > longest_ns:
        raise UserError(f"{what}: '{text}' is too long", f"the longest is {longest_ns * 1e-9:g}s")
    return value


def whole_number(text: str, otherwise: int) -> int:
    """The number that `text` writes in the digits 0 to 9, no other script's; `otherwise` if it is
    not one, or longer than any number used here."""
    return int(text) if re.fullmatch("[0-9]{1,20}", text) else otherwise


def format_duration(ns: float) -> str:
    """In the largest unit that keeps the number at 1 or above."""
    for unit in ("s", "ms", "us"):
        if ns >= UNITS_NS[unit]:
            return f"{ns / UNITS_NS[unit]:.6g}{unit}"
    return f"{ns:.6g}ns"
