# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The reserve rule against the paper's schemes and RackSched, with confidence intervals."""

from __future__ import annotations

import math
from typing import Any

from loadgen.figures.base import (
    BIMODAL25,
    BIMODAL50,
    EXP25,
    EXP50,
    TITLES,
    Claim,
    Figure,
    Results,
    Settings,
    paper_model,
    rows_of,
    sweep,
)
from loadgen.plot.style import style
from loadgen.workload.confidence import Estimate, half_width

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
RIVALS = ("baseline", "racksched", "netclone", "netclone+racksched")
RULE = "netclone+reserve"
METRICS = ("mean", "p50", "p99")
GOAL = 1.02


def ratio(results: Results, panel: str, load: float, metric: str) -> tuple[Estimate, str]:
    """The rule's metric over the best rival's, and the rival. The interval is of the
    replications' own ratios, which share their arrivals."""
    rule = results[panel, RULE, load]
    best = min(RIVALS, key=lambda k: results[panel, k, load].estimate_us(metric).value)
    rival = results[panel, best, load]
    value = rule.estimate_us(metric).value / rival.estimate_us(metric).value
    samples = [
        math.log(a.metrics_us[metric] / b.metrics_us[metric])
        for a, b in zip(rule.replications, rival.replications, strict=True)
    ]
    return Estimate(value, value * half_width(samples)), best


def reserve(s: Settings) -> Figure:
    """Mean, median and 99th percentile over the best of four, on all four workloads."""
    services = (EXP25, BIMODAL25, EXP50, BIMODAL50)
    results = sweep(s, {x: paper_model(x) for x in services}, (*RIVALS, RULE), LOADS, scale=2)
    ratios = {
        (x, load, m): ratio(results, x, load, m)
        for x in services
        for load in LOADS
        for m in METRICS
    }
    rows = rows_of(results)
    for (x, load, m), (e, best) in ratios.items():
        row: dict[str, Any] = {"panel": x, "scheme": f"{RULE} / {best}", "load": load}
        row |= {"metric": m, "ratio": round(e.value, 5), "ratio_half_width": round(e.half_width, 5)}
        rows.append(row)
    claims = []
    for x in services:
        worst = max(((k, e) for k, (e, _) in ratios.items() if k[0] == x), key=lambda i: i[1].value)
        (_, load, m), e = worst
        claims.append(
            Claim(
                f"{TITLES[x]}: most over the best of four, any load, mean, p50 or p99",
                f"at most {GOAL} asked for",
                f"{e.value:.3f} ±{e.half_width:.3f} ({m} at {load:g})",
            )
        )

    def draw(ax: list[Any]) -> None:
        for position, x in enumerate(services):
            for number, m in enumerate(METRICS):
                e = [ratios[x, load, m][0] for load in LOADS]
                ax[position].errorbar(
                    LOADS,
                    [v.value for v in e],
                    [v.half_width for v in e],
                    label=m,
                    capsize=2,
                    **style("", (3, 1, 4)[number]),
                )
            ax[position].axhline(GOAL, color="#c44e52", linewidth=0.8, linestyle="--")
            ax[position].axhline(1, color="black", linewidth=0.8)
            ax[position].set_title(TITLES[x], fontsize=10)
            ax[position].set_xlabel("load")
            ax[position].set_ylabel(f"{RULE} over the best of four")

    return Figure(
        "reserve",
        "The reserve rule, beyond the paper",
        rows,
        claims,
        draw,
        (2, 2),
        [_table(services, ratios)],
    )


def _table(services: tuple[str, ...], ratios: dict[Any, tuple[Estimate, str]]) -> str:
    """Every ratio with its 95 % interval, as Markdown."""
    lines = ["The rule over the best of four (95 % half widths):", ""]
    lines += ["| workload | load | mean | p50 | p99 |", "|---|---:|---|---|---|"]
    for x in services:
        for load in LOADS:
            cells = [
                f"{e.value:.3f} ±{e.half_width:.3f} ({best})"
                for e, best in (ratios[x, load, m] for m in METRICS)
            ]
            lines.append(f"| {TITLES[x]} | {load:g} | {' | '.join(cells)} |")
    return "\n".join(lines)
