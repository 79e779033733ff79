# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What to expect at given loads without copies, with static ones and with cloning in the switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.advise.question import NO_COPIES, STATIC, Question, Run
from loadgen.sim.run import PointResult, run_points

DEFAULT_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SCHEMES = (NO_COPIES, STATIC, "netclone", "netclone+reserve")


@dataclass(frozen=True)
class Prediction:
    """Response times of one scheme at one load."""

    load: float
    scheme: str
    mean_us: float
    p50_us: float
    p99_us: float
    mean_half_width_us: float
    p99_half_width_us: float
    utilisation: float
    overloaded: bool


def predict(question: Question, loads: Sequence[float], run: Run = run_points) -> list[Prediction]:
    """Every scheme at every load."""
    question.check()
    return [
        _prediction(question, result)
        for result in run([question.point(scheme, load) for load in loads for scheme in SCHEMES])
    ]


def _prediction(question: Question, result: PointResult) -> Prediction:
    point = result.point
    extra = question.overhead_us(point.scheme)
    mean, p50, p99 = (result.estimate_us(metric) for metric in ("mean", "p50", "p99"))
    return Prediction(
        load=point.load,
        scheme=point.scheme,
        mean_us=mean.value + extra,
        p50_us=p50.value + extra,
        p99_us=p99.value + extra,
        mean_half_width_us=mean.half_width,
        p99_half_width_us=p99.half_width,
        utilisation=result.utilisation,
        overloaded=point.scheme == STATIC and question.copies * point.load >= 1,
    )
