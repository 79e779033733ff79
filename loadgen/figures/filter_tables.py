# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many redundant responses slip through smaller and fewer filter tables."""

from __future__ import annotations

from typing import Any

from loadgen.figures.figure import Claim, Figure, Row, Settings
from loadgen.figures.sweep import EXP25, paper_model
from loadgen.plot.style import line, numbered

SIZES_LOG2 = (4, 5, 6, 7, 8, 9, 10, 12, 14, 17)
TABLES = (1, 2, 4)
LOAD = 0.5
LEAST_SHARE = 1e-7
"""A logarithmic axis has no 0."""

Shares = dict[tuple[int, int], float]
"""Share of the redundant responses that slips through, by (tables, slots_log2)."""


def make(s: Settings) -> Figure:
    keys = [(n, k) for n in TABLES for k in SIZES_LOG2]
    models = [paper_model(EXP25, filter_tables=n, filter_slots_log2=k) for n, k in keys]
    found = s.run([s.point(model, "netclone", LOAD) for model in models])
    share: Shares = {}
    for key, result in zip(keys, found, strict=True):
        both = result.count("slipped") + result.count("filtered")
        share[key] = result.count("slipped") / both if both else 0.0
    rows: list[Row] = [
        {"tables": n, "slots_log2": k, "load": LOAD, "slipped_share": share[n, k]} for n, k in keys
    ]

    def draw(ax: list[Any]) -> None:
        _draw(ax[0], share)

    title = "Number and size of filter tables"
    return Figure("filter-tables", title, rows, _claims(share), draw)


def _claims(share: Shares) -> list[Claim]:
    return [
        Claim(
            "redundant responses that slip through 2 tables of 2^17 slots",
            "rare: latencies are microseconds",
            f"{share[2, 17]:.2e}",
        ),
        Claim(
            "2^8 slots: 1, 2 and 4 tables",
            "more tables, fewer collisions",
            ", ".join(f"{share[n, 8]:.2e}" for n in TABLES),
            "ids are consecutive, so one slot for each request in flight is enough: a "
            "slot is taken again only after the sequence has gone round the table",
        ),
    ]


def _draw(ax: Any, share: Shares) -> None:
    for position, n in enumerate(TABLES):
        label = f"{n} table{'s' if n > 1 else ''}"
        shares = [max(share[n, k], LEAST_SHARE) for k in SIZES_LOG2]
        line(ax, [2**k for k in SIZES_LOG2], shares, label, numbered(position))
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel("slots of a filter table")
    ax.set_ylabel("redundant responses that slip through")
