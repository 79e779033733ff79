# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threshold load against the variance of the service times."""

from __future__ import annotations

import math
from typing import Any

from loadgen.advise.threshold import simulated_thresholds
from loadgen.figures.figure import Claim, Figure, Row, Settings
from loadgen.figures.single_worker import CONST, SERVERS, load_of, question
from loadgen.plot.style import line, numbered

Families = dict[str, list[tuple[float, str]]]
"""Family -> (squared coefficient of variation, distribution of mean 1 ms)."""
Loads = dict[tuple[str, float], float]
"""Threshold by family and squared coefficient of variation."""


def _weibull_cv2(shape: float) -> float:
    return math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1


def _families() -> Families:
    weibull = [(_weibull_cv2(k), f"weibull:{k}:1ms") for k in (4.0, 1.5, 1.0, 0.7, 0.5, 0.4)]
    pareto = [(1 / (a * (a - 2)), f"pareto:{a}:1ms") for a in (6.0, 3.0, 2.5, 2.2, 2.1)]
    # Half of a mean with probability p; the rare long ones carry the rest of the work.
    two_point = []
    for p in (0.1, 0.5, 0.8, 0.9, 0.95, 0.98):
        long = (1 - p / 2) / (1 - p)
        cv2 = p / 4 + (1 - p) * long * long - 1
        two_point.append((cv2, f"twopoint:{1 - p:.3g}:{2 * long:.6g}:1ms"))
    return {"Weibull": weibull, "Pareto": pareto, "two-point": two_point}


def make(s: Settings) -> Figure:
    families = _families()
    flat = [(family, cv2, text) for family, items in families.items() for cv2, text in items]
    services = [text for _, _, text in flat] + [CONST]
    *found, last = simulated_thresholds([question(s, text) for text in services], s.run)
    loads = {(family, cv2): load_of(t) for (family, cv2, _), t in zip(flat, found, strict=True)}
    deterministic = load_of(last)
    rows: list[Row] = [
        _row(family, round(cv2, 5), text, loads[family, cv2]) for family, cv2, text in flat
    ]
    rows.append(_row("deterministic", 0, CONST, deterministic))

    def draw(ax: list[Any]) -> None:
        _draw(ax[0], families, loads, deterministic)

    claims = _claims(families, loads, deterministic)
    return Figure("threshold", "Threshold load against variance", rows, claims, draw)


def _row(family: str, cv2: float, service: str, load: float) -> Row:
    return {"family": family, "squared_cv": cv2, "service": service, "threshold_load": load}


def _claims(families: Families, loads: Loads, deterministic: float) -> list[Claim]:
    most = {family: max(loads[family, cv2] for cv2, _ in families[family]) for family in families}
    return [
        Claim(
            "exponential",
            "33 %",
            f"{loads['Weibull', _weibull_cv2(1.0)]:.3f}",
            f"1/3 for independent queues; {SERVERS} servers are a little less",
        ),
        Claim(
            "deterministic",
            "about 26 %, conjectured the worst",
            f"{deterministic:.3f}",
            "independent queues: 0.272 by the formula of M/D/1",
        ),
        Claim(
            "all of them",
            "between 25 % and 50 %",
            f"{min([*loads.values(), deterministic]):.3f} to {max(loads.values()):.3f}",
        ),
        Claim(
            "high variance",
            "can approach 50 %",
            ", ".join(f"{family}: {load:.3f}" for family, load in most.items()),
            "heavy tails do (Pareto towards 2, but it takes longer runs than these to see); light "
            "tails of the same variance do not: the waits at twice the load grow with it, too",
        ),
    ]


def _draw(ax: Any, families: Families, loads: Loads, deterministic: float) -> None:
    for position, (family, items) in enumerate(families.items(), 1):
        x = [cv2 for cv2, _ in items]
        line(ax, x, [loads[family, cv2] for cv2 in x], family, numbered(position))
    ax.axhline(deterministic, color="black", linestyle=":", linewidth=1, label="deterministic")
    ax.axhline(0.5, color="#888888", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_ylim(0.2, 0.52)
    ax.set_xlabel("squared coefficient of variation of the service time")
    ax.set_ylabel("threshold load, two copies")
