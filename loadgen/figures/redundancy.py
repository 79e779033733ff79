# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Response time against load, one copy and two: mean and 99.9th percentile."""

from __future__ import annotations

from typing import Any

from loadgen.figures.figure import Claim, Figure, Settings
from loadgen.figures.single_worker import CONST, LOADS, PARETO, single_worker_model
from loadgen.figures.sweep import Results, ratio, row_of, sweep, us
from loadgen.plot.style import line, style

LABELS = {"baseline": "1 copy", "c-clone": "2 copies"}
SERVICES = {CONST: "deterministic", PARETO: "Pareto (2.1)"}


def make(s: Settings) -> Figure:
    panels = {service: single_worker_model(service) for service in SERVICES}
    results = sweep(s, panels, tuple(LABELS), LOADS)

    def draw(ax: list[Any]) -> None:
        _draw(ax, results)

    rows = [row_of(r, service=key[0]) for key, r in results.items()]
    title = "Response time, one copy and two"
    return Figure("redundancy", title, rows, _claims(results), draw, (2, 2))


def _claims(results: Results) -> list[Claim]:
    best = max(ratio(results, PARETO, x, "baseline", "c-clone", "p999") for x in LOADS)

    def shorter_up_to(service: str) -> float:
        means = {
            x: [us(results, service, scheme, x, "mean") for scheme in ("c-clone", "baseline")]
            for x in LOADS
        }
        return max((x for x, (two, one) in means.items() if two < one), default=0.0)

    return [
        Claim("Pareto: 99.9th percentile, most gain of two copies", "5 times", f"{best:.1f} times"),
        Claim(
            "two copies shorten the mean up to a load of (deterministic, Pareto)",
            "a threshold, higher for more variable times",
            f"{shorter_up_to(CONST):g}, {shorter_up_to(PARETO):g}",
        ),
    ]


def _draw(ax: list[Any], results: Results) -> None:
    cells = [(service, metric) for service in SERVICES for metric in ("mean", "p999")]
    for each, (service, metric) in zip(ax, cells, strict=True):
        for scheme, label in LABELS.items():
            times = [us(results, service, scheme, x, metric) * 1e-3 for x in LOADS]
            line(each, LOADS, times, label, style(scheme))
        each.set_yscale("log")
        each.set_xlabel("load")
        each.set_ylabel(f"{metric} of the response time (service times)")
        each.set_title(SERVICES[service], fontsize=10)
