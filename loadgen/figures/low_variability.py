# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Low service-time variability: jitter of 0.1 % instead of 1 %."""

from __future__ import annotations

from typing import Any

from loadgen.figures.figure import Claim, Figure, Settings
from loadgen.figures.sweep import (
    BIMODAL25,
    EXP25,
    LOADS,
    TITLES,
    draw_panels,
    mean_gain,
    paper_model,
    rows_of,
    sweep,
)

SERVICES = (EXP25, BIMODAL25)


def make(s: Settings) -> Figure:
    panels = {x: paper_model(x, "0.001x15") for x in SERVICES}
    usual = {f"{x} usual": paper_model(x) for x in SERVICES}
    results = sweep(s, panels, ("baseline", "c-clone", "netclone"))
    compared = sweep(s, usual, ("baseline", "netclone"))
    claims = [
        Claim(
            f"{TITLES[x]}: p99 below the baseline's, average over loads, jitter 0.1 % and 1 %",
            "still better, by less",
            f"{mean_gain(results, x, LOADS, 'baseline', 'netclone'):.2f} and "
            f"{mean_gain(compared, f'{x} usual', LOADS, 'baseline', 'netclone'):.2f} times",
        )
        for x in SERVICES
    ]

    def draw(ax: list[Any]) -> None:
        draw_panels(ax, results, {x: f"{TITLES[x]}, jitter 0.1 % x 15" for x in SERVICES})

    rows = rows_of(results) + rows_of(compared)
    return Figure("low-variability", "Low service-time variability", rows, claims, draw, (1, 2))
