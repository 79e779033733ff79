# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The reserve rule against the paper's schemes and RackSched, with confidence intervals."""

from __future__ import annotations

import math
from typing import Any

from loadgen.figures.figure import Claim, Figure, Row, Settings
from loadgen.figures.sweep import (
    BIMODAL25,
    BIMODAL50,
    EXP25,
    EXP50,
    TITLES,
    Results,
    paper_model,
    rows_of,
    sweep,
)
from loadgen.plot.style import numbered
from loadgen.workload.confidence import Estimate, half_width

SERVICES = (EXP25, BIMODAL25, EXP50, BIMODAL50)
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
RIVALS = ("baseline", "racksched", "netclone", "netclone+racksched")
RULE = "netclone+reserve"
METRICS = {"mean": 3, "p50": 1, "p99": 4}
"""Each with the number of its curve."""
GOAL = 1.02

Ratios = dict[tuple[str, float, str], tuple[Estimate, str]]
"""The rule over the best rival, and that rival, by (service, load, metric)."""


def over_best_rival(results: Results, panel: str, load: float, metric: str) -> tuple[Estimate, str]:
    """The rule's metric over the best rival's, and the rival. The interval comes from the
    replications' own ratios, since they share their arrivals."""
    rule = results[panel, RULE, load]
    best = min(RIVALS, key=lambda k: results[panel, k, load].estimate_us(metric).value)
    rival = results[panel, best, load]
    value = rule.estimate_us(metric).value / rival.estimate_us(metric).value
    samples = [
        math.log(a.metrics_us[metric] / b.metrics_us[metric])
        for a, b in zip(rule.replications, rival.replications, strict=True)
    ]
    return Estimate(value, value * half_width(samples)), best


def make(s: Settings) -> Figure:
    results = sweep(s, {x: paper_model(x) for x in SERVICES}, (*RIVALS, RULE), LOADS, scale=2)
    ratios = {
        (x, load, m): over_best_rival(results, x, load, m)
        for x in SERVICES
        for load in LOADS
        for m in METRICS
    }

    def draw(ax: list[Any]) -> None:
        for each, service in zip(ax, SERVICES, strict=True):
            _draw(each, service, ratios)

    return Figure(
        "reserve",
        "The reserve rule, beyond the paper",
        [*rows_of(results), *_rows(ratios)],
        _claims(ratios),
        draw,
        (2, 2),
        [_table(ratios)],
    )


def _rows(ratios: Ratios) -> list[Row]:
    return [
        {
            "panel": service,
            "scheme": f"{RULE} / {best}",
            "load": load,
            "metric": metric,
            "ratio": round(e.value, 5),
            "ratio_half_width": round(e.half_width, 5),
        }
        for (service, load, metric), (e, best) in ratios.items()
    ]


def _claims(ratios: Ratios) -> list[Claim]:
    claims = []
    for service in SERVICES:
        found = {key: e for key, (e, _) in ratios.items() if key[0] == service}
        _, load, metric = worst = max(found, key=lambda key: found[key].value)
        e = found[worst]
        claims.append(
            Claim(
                f"{TITLES[service]}: most over the best of four, any load, mean, p50 or p99",
                f"at most {GOAL} asked for",
                f"{e.value:.3f} ±{e.half_width:.3f} ({metric} at {load:g})",
            )
        )
    return claims


def _draw(ax: Any, service: str, ratios: Ratios) -> None:
    for metric, number in METRICS.items():
        e = [ratios[service, load, metric][0] for load in LOADS]
        ax.errorbar(
            LOADS,
            [v.value for v in e],
            [v.half_width for v in e],
            label=metric,
            capsize=2,
            **numbered(number),
        )
    ax.axhline(GOAL, color="#c44e52", linewidth=0.8, linestyle="--")
    ax.axhline(1, color="black", linewidth=0.8)
    ax.set_title(TITLES[service], fontsize=10)
    ax.set_xlabel("load")
    ax.set_ylabel(f"{RULE} over the best of four")


def _table(ratios: Ratios) -> str:
    """Every ratio with its 95 % interval, as Markdown."""
    lines = ["The rule over the best of four (95 % half widths):", ""]
    lines += ["| workload | load | mean | p50 | p99 |", "|---|---:|---|---|---|"]
    for service in SERVICES:
        for load in LOADS:
            cells = [
                f"{e.value:.3f} ±{e.half_width:.3f} ({best})"
                for e, best in (ratios[service, load, m] for m in METRICS)
            ]
            lines.append(f"| {TITLES[service]} | {load:g} | {' | '.join(cells)} |")
    return "\n".join(lines)
