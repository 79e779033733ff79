# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The schemes that are compared: who picks the servers of a request, and what clones it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from netclone_host.errors import UserError


class Target(IntEnum):
    """`enum lg_target` of native/traffic/client.h: who decides on the servers of a request."""

    ONE = 0
    TWO = 1
    GROUP = 2


@dataclass(frozen=True)
class Scheme:
    """What the client, the switch and (for LAEDGE) the coordinator do."""

    name: str
    target: Target
    """Whom the client addresses: one server, two, or the switch's choice."""
    switch_clones: bool = False
    switch_racksched: bool = False
    """The switch sends what it does not clone to the shorter queue of two."""
    reserve: bool = False
    """Beyond the paper: the reserve rule, at the switch and at the servers."""
    coordinator: bool = False
    """Requests go to a coordinator process, which addresses the servers."""


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("baseline", Target.ONE),
        Scheme("c-clone", Target.TWO),
        Scheme("laedge", Target.ONE, coordinator=True),
        Scheme("racksched", Target.GROUP, switch_racksched=True),
        Scheme("netclone", Target.GROUP, switch_clones=True),
        Scheme("netclone+racksched", Target.GROUP, switch_clones=True, switch_racksched=True),
        Scheme("netclone+reserve", Target.GROUP, switch_clones=True, reserve=True),
    )
}


def find_scheme(name: str) -> Scheme:
    """The scheme called `name`; raises `UserError`."""
    try:
        return SCHEMES[name.strip()]
    except KeyError:
        known = ", ".join(SCHEMES)
        raise UserError(f"unknown scheme '{name}'", f"known schemes: {known}") from None


def parse_schemes(text: str) -> list[Scheme]:
    """Schemes of a list separated by commas, each once; raises `UserError`."""
    schemes = [find_scheme(name) for name in text.split(",")]
    if len({s.name for s in schemes}) != len(schemes):
        raise UserError(f"'{text}' names a scheme twice", "name each scheme once")
    return schemes
