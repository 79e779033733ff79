# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Figure 10: RackSched, equal and unequal servers."""

from __future__ import annotations

from typing import Any

from loadgen.figures.figure import Claim, Figure, Settings
from loadgen.figures.sweep import (
    BIMODAL25,
    EXP25,
    LOADS,
    TITLES,
    Results,
    draw_panels,
    mean_gain,
    paper_model,
    ratio,
    rows_of,
    sweep,
    us,
)

SCHEMES = ("baseline", "racksched", "netclone", "netclone+racksched")
BOTH = "netclone+racksched"
RACKS = {"6 x 15": (15,) * 6, "3 x 15 + 3 x 8": (15, 15, 15, 8, 8, 8)}
DRAW = 1.02
"""Whoever is within 2 % of the best is as good."""


def make(s: Settings) -> Figure:
    panels = {
        f"{TITLES[service]}, {name}": paper_model(service, workers=workers)
        for service in (EXP25, BIMODAL25)
        for name, workers in RACKS.items()
    }
    results = sweep(s, panels, SCHEMES)
    claims = _claims(results, list(panels))

    def draw(ax: list[Any]) -> None:
        draw_panels(ax, results, {panel: panel for panel in panels})

    title = "With RackSched (figure 10)"
    return Figure("racksched", title, rows_of(results), claims, draw, (2, 2))


def _claims(results: Results, panels: list[str]) -> list[Claim]:
    equal, unequal = panels[:2]

    def wins(panel: str) -> str:
        best = {x: min(us(results, panel, scheme, x) for scheme in SCHEMES) for x in LOADS}
        won = [x for x in LOADS if us(results, panel, BOTH, x) <= DRAW * best[x]]
        return f"at {len(won)} of {len(LOADS)} loads"

    gains = [mean_gain(results, panel, LOADS, "netclone", BOTH) for panel in (unequal, equal)]
    return [
        *(Claim(f"NetClone with RackSched is the best (p99), {p}", "yes", wins(p)) for p in panels),
        Claim(
            "its gain over NetClone, unequal and equal servers, Exp(25)",
            "more with unequal servers",
            f"{gains[0]:.2f} and {gains[1]:.2f} times",
        ),
        Claim(
            "6 x 15, very high load (0.9): p99 of NetClone with RackSched over NetClone",
            "above 1, supposedly since more states are stale",
            f"{ratio(results, equal, 0.9, BOTH, 'netclone'):.2f}",
            "in the model the shorter queue helps most there; a testbed's dispatcher, which has "
            "a core of its own to lose, is not in the model",
        ),
    ]
