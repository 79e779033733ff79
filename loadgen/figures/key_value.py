# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Figures 11 and 12: reads of replicated key-value stores, 8 workers per server."""

from __future__ import annotations

from typing import Any

from loadgen.figures.figure import Claim, Figure, Settings
from loadgen.figures.sweep import (
    LOADS,
    PAPER_JITTER,
    Results,
    draw_panels,
    ratio,
    rows_of,
    steady_throughput,
    sweep,
)
from loadgen.sim.model import Model, RequestClass
from loadgen.workload.services import parse_workload

# GET of one object, SCAN of 100: assumed, the paper does not give them.
STORES = {
    "Redis": ("lognormal:0.3:20us", "lognormal:0.3:440us"),
    "Memcached": ("lognormal:0.3:10us", "lognormal:0.3:220us"),
}
MIXES = {"99% GET, 1% SCAN": 0.99, "90% GET, 10% SCAN": 0.9}
SAID = ("up to 22.59 times", "up to 1.77 times", "1.06 to 22.00 times", "1.24 times on average")
"""By the paper, for each store and mix."""
EDGE = "Redis, 99.1% GET, 0.9% SCAN"


def _store(store: str, share: float) -> Model:
    """Reads of a store; `share` of them are GETs."""
    get, scan = STORES[store]
    classes = (
        RequestClass(parse_workload(get, PAPER_JITTER), share),
        RequestClass(parse_workload(scan, PAPER_JITTER), 1 - share),
    )
    return Model(classes=classes, workers=(8,) * 6)


def make(s: Settings) -> Figure:
    panels = {
        f"{store}, {mix}": _store(store, share) for store in STORES for mix, share in MIXES.items()
    }
    results = sweep(s, panels, ("baseline", "c-clone", "netclone"))
    results |= sweep(s, {EDGE: _store("Redis", 0.991)}, ("baseline", "netclone"))

    def draw(ax: list[Any]) -> None:
        draw_panels(ax, results, {panel: panel for panel in panels})

    return Figure(
        "key-value",
        "Replicated key-value stores (figures 11, 12)",
        rows_of(results),
        _claims(results, list(panels)),
        draw,
        (2, 2),
        [
            "The service times of GET and SCAN are assumed: a SCAN of 100 objects takes 22 times "
            "as long as a GET, jitter 1 % x 15."
        ],
    )


def _claims(results: Results, panels: list[str]) -> list[Claim]:
    def gains(panel: str) -> str:
        found = [ratio(results, panel, x, "baseline", "netclone") for x in LOADS]
        mean = sum(found) / len(found)
        return f"{min(found):.2f} to {max(found):.2f} times, {mean:.2f} on average"

    half = steady_throughput(results, panels[0], "c-clone") / steady_throughput(
        results, panels[0], "netclone"
    )
    return [
        *(
            Claim(f"{panel}: p99 below the baseline's", said, gains(panel))
            for panel, said in zip(panels, SAID, strict=True)
        ),
        Claim(
            f"{EDGE}: the same",
            "(99/1: up to 22.59 times)",
            gains(EDGE),
            "cloning does not shorten a SCAN. With exactly 1 % SCANs the 99th percentile with "
            "cloning is on the edge between GET and SCAN; with slightly fewer it is a GET's, "
            "while the baseline's is still among SCANs and jitter",
        ),
        Claim("C-Clone's throughput over NetClone's", "half", f"{half:.2f}"),
    ]
