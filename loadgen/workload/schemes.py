# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a scheme is: the one place that the generator, the rack, the simulator and the plots read.

A scheme made of parts that exist is one entry of `SCHEMES`. What each part does stands where it
is done: `Party.CLIENT` in native/traffic/client_send.c, `Party.COORDINATOR` in
native/traffic/coordinator.c, the rules of the switch in rack/scheme_setup.py (its flags).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from netclone_host.errors import UserError


class Party(Enum):
    """Who does something about a request."""

    CLIENT = "client"
    SWITCH = "switch"
    COORDINATOR = "coordinator"


class Target(IntEnum):
    """`enum lg_target` of native/traffic/client.h: whom a client addresses."""

    ONE = 0
    TWO = 1
    GROUP = 2


class Simulated(IntEnum):
    """`enum sim_scheme` of native/sim/sim.h."""

    BASELINE = 0
    CCLONE = 1
    LAEDGE = 2
    RACKSCHED = 3
    NETCLONE = 4
    NETCLONE_RACKSCHED = 5
    NETCLONE_RESERVE = 6


@dataclass(frozen=True)
class Look:
    """A curve in every plot. Markers and dashes differ between schemes, so that a print in gray can
    be read."""

    color: str
    marker: str
    dashes: str | tuple[int, tuple[int, ...]]
    """As matplotlib's `linestyle`."""


@dataclass(frozen=True)
class Counters:
    """What a record takes its numbers from: `<role>.<hook>.<reason>` of the programs, summed over
    the nodes of a role, or `coordinator.<count>`."""

    cloned: str = "switch.ingress.cloned"
    clones_dropped: str = "server.ingress.dropped_server_busy"
    filtered: str = "switch.ingress.filtered_slower_response"


@dataclass(frozen=True)
class Scheme:
    """Who chooses the server of a request, and who clones it."""

    name: str
    look: Look
    simulated: Simulated
    chooser: Party = Party.CLIENT
    cloner: Party | None = None
    racksched: bool = False
    """The switch sends what it does not clone to the shorter queue of two."""
    reserve: bool = False
    """Beyond the paper: the reserve rule, at the switch and at the servers."""
    counters: Counters = Counters()

    @property
    def target(self) -> Target:
        """Whom the client addresses; a coordinator is one server to it."""
        if self.chooser is Party.SWITCH:
            return Target.GROUP
        return Target.TWO if self.cloner is Party.CLIENT else Target.ONE

    @property
    def has_coordinator(self) -> bool:
        """Requests go to a coordinator process, which addresses the servers."""
        return self.chooser is Party.COORDINATOR

    @property
    def min_servers(self) -> int:
        """A group is a pair, and so are the two copies that a client sends."""
        return 1 if self.target is Target.ONE else 2


SCHEMES: dict[str, Scheme] = {}


def register(scheme: Scheme) -> None:
    """Makes the scheme known under its name, from now on."""
    if scheme.name in SCHEMES:
        raise ValueError(f"a scheme named {scheme.name} exists")
    SCHEMES[scheme.name] = scheme


for _scheme in (
    Scheme("baseline", Look("#444444", "o", (0, (8, 2))), Simulated.BASELINE),
    Scheme("c-clone", Look("#c44e52", "s", "--"), Simulated.CCLONE, cloner=Party.CLIENT),
    Scheme(
        "laedge",
        Look("#8172b2", "v", ":"),
        Simulated.LAEDGE,
        chooser=Party.COORDINATOR,
        cloner=Party.COORDINATOR,
        counters=Counters(cloned="coordinator.cloned", filtered="coordinator.redundant_responses"),
    ),
    Scheme(
        "racksched",
        Look("#937860", "D", "-."),
        Simulated.RACKSCHED,
        chooser=Party.SWITCH,
        racksched=True,
    ),
    Scheme(
        "netclone",
        Look("#1f5fa8", "^", "-"),
        Simulated.NETCLONE,
        chooser=Party.SWITCH,
        cloner=Party.SWITCH,
    ),
    Scheme(
        "netclone+racksched",
        Look("#2a9d5c", "P", (0, (5, 1, 1, 1, 1, 1))),
        Simulated.NETCLONE_RACKSCHED,
        chooser=Party.SWITCH,
        cloner=Party.SWITCH,
        racksched=True,
    ),
    Scheme(
        "netclone+reserve",
        Look("#d98b00", "*", (0, (2, 1))),
        Simulated.NETCLONE_RESERVE,
        chooser=Party.SWITCH,
        cloner=Party.SWITCH,
        reserve=True,
    ),
):
    register(_scheme)


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
