# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""LAEDGE, whose coordinator is a processor, beside the switch."""

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
    is_overloaded,
    most_throughput,
    paper_model,
    ratio,
    rows_of,
    sweep,
)

SERVICES = (EXP25, BIMODAL25)


def make(s: Settings) -> Figure:
    panels = {x: paper_model(x) for x in SERVICES}
    results = sweep(s, panels, ("baseline", "c-clone", "laedge", "netclone"))

    def draw(ax: list[Any]) -> None:
        draw_panels(ax, results, {x: TITLES[x] for x in SERVICES})

    title = "Cloning in the switch and in a coordinator"
    return Figure("coordinator", title, rows_of(results), _claims(results), draw, (1, 2))


def _claims(results: Results) -> list[Claim]:
    claims = []
    for panel in SERVICES:
        most = {k: most_throughput(results, panel, k) / 1e6 for k in ("laedge", "netclone")}
        claims.append(
            Claim(
                f"{TITLES[panel]}: throughput of LAEDGE and of NetClone (million/s)",
                "the coordinator is the bottleneck, for only a few servers",
                f"{most['laedge']:.2f}, {most['netclone']:.2f}",
                "the coordinator needs 250 ns per packet here: 4 million packets a second, up to "
                "6 packets per cloned request",
            )
        )
    usable = [x for x in LOADS if not is_overloaded(results[BIMODAL25, "laedge", x])]
    if usable:
        at = max(usable)
        claims.append(
            Claim(
                f"Bimodal(25,250): median of LAEDGE over NetClone at load {at:g}",
                "microseconds more for each decision",
                f"{ratio(results, BIMODAL25, at, 'laedge', 'netclone', 'p50'):.2f}",
            )
        )
    return claims
