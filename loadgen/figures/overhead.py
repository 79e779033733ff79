# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threshold load against what a replicated request costs the client."""

from __future__ import annotations

from typing import Any

from loadgen.advise.threshold import simulated_thresholds
from loadgen.figures.figure import Claim, Figure, Row, Settings
from loadgen.figures.single_worker import CONST, PARETO, load_of, question
from loadgen.plot.style import line, numbered
from loadgen.sim import theory

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Of the mean service time."""
SERVICES = {"exponential": "exp:1ms", "Pareto (2.1)": PARETO, "deterministic": CONST}
MEAN_NS = 1e6

Loads = dict[tuple[str, float], float]
"""Threshold by service and share."""


def make(s: Settings) -> Figure:
    keys = [(name, share) for name in SERVICES for share in SHARES]
    questions = [question(s, SERVICES[name], share * MEAN_NS) for name, share in keys]
    found = simulated_thresholds(questions, s.run)
    loads = {key: load_of(t) for key, t in zip(keys, found, strict=True)}
    rows: list[Row] = [
        {"service": name, "overhead_over_mean": share, "threshold_load": loads[name, share]}
        for name, share in keys
    ]

    def draw(ax: list[Any]) -> None:
        for position, name in enumerate(SERVICES, 1):
            line(ax[0], SHARES, [loads[name, x] for x in SHARES], name, numbered(position))
        ax[0].set_xlabel("client's overhead over the mean service time")
        ax[0].set_ylabel("threshold load, two copies")

    return Figure("overhead", "Effect of the client's overhead", rows, _claims(loads), draw)


def _claims(loads: Loads) -> list[Claim]:
    independent = theory.threshold(
        lambda load: theory.exponential_mean(1, 1, load),
        lambda load: theory.exponential_mean(1, 2, load) + 0.2,
        2,
    )
    return [
        Claim(
            "overhead equal to the mean service time",
            "no gain",
            ", ".join(f"{name}: {loads[name, 1.0]:g}" for name in SERVICES),
        ),
        Claim(
            "overhead of 0.2 of the mean",
            "may fall below 25 %",
            ", ".join(f"{name}: {loads[name, 0.2]:.3f}" for name in SERVICES),
            f"exponential, independent queues: {independent:.3f}; 0 means never. Deterministic "
            "times gain nothing while queues are empty, so any overhead is too much at low load",
        ),
    ]
