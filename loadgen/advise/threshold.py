# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The load below which copies shorten the response time.

Analytic where the answer is known (one worker per server, exponential or deterministic service
times), found by simulation otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.advise.question import NO_COPIES, STATIC, Question, Run
from loadgen.sim import theory
from loadgen.sim.run import PointResult, run_points
from loadgen.workload.confidence import Estimate, half_width
from loadgen.workload.distributions import Kind

LOWEST_LOAD = 0.02
BRACKET = 0.004
"""A search ends when the threshold is known to lie in an interval this wide."""


@dataclass(frozen=True)
class Threshold:
    """Largest load below which the copies are better; None: they never are."""

    load: float | None
    method: str
    low: float | None = None
    high: float | None = None
    """Simulated: the load lies between these."""


def find_threshold(question: Question, run: Run = run_points, metric: str = "mean") -> Threshold:
    """Threshold load of `mean` or `p99`."""
    question.check()
    if question.overhead_ns >= question.workload.mean_ns and metric == "mean":
        return Threshold(None, "analytic: the overhead is as long as the service")
    known = _analytic(question, metric)
    return known or simulated_thresholds([question], run, metric)[0]


# ---- known answers ----


def _known_kind(question: Question) -> Kind | None:
    """The kind of distribution whose answer is known, if it is."""
    workload = question.workload
    if question.workers != 1 or workload.jitter.probability:
        return None
    kind = workload.service.kind
    return kind if kind in (Kind.EXP, Kind.CONST) else None


def _analytic(question: Question, metric: str) -> Threshold | None:
    kind = _known_kind(question)
    if kind is None:
        return None
    mean, copies, extra = question.workload.mean_ns, question.copies, question.overhead_ns
    if kind is Kind.EXP and not extra:
        # Both the mean and every quantile scale with 1 / (k (1 - k load)).
        return Threshold(theory.exponential_threshold(copies), "analytic: 1 / (copies + 1)")
    if kind is Kind.CONST and not extra and copies == 2 and metric == "mean":
        return Threshold(
            theory.PUBLISHED_DETERMINISTIC_THRESHOLD,
            "analytic: published approximation for deterministic service times",
        )

    def response(copies: int, load: float) -> float:
        if metric == "mean":
            of_mean = theory.exponential_mean if kind is Kind.EXP else theory.deterministic_mean
            return of_mean(mean, copies, load)
        of_quantile = (
            theory.exponential_quantile if kind is Kind.EXP else theory.deterministic_quantile
        )
        return of_quantile(0.99, mean, copies, load)

    found = theory.threshold(
        lambda load: response(1, load), lambda load: response(copies, load) + extra, copies
    )
    return Threshold(found, "analytic: independent queues")


# ---- simulated answers ----


def simulated_thresholds(
    questions: Sequence[Question], run: Run = run_points, metric: str = "mean"
) -> list[Threshold]:
    """Bisects all questions at once, so that their probes can run side by side."""
    brackets: list[list[float]] = [[LOWEST_LOAD, 1 / q.copies] for q in questions]
    verdicts = _are_worse(questions, [low for low, _ in brackets], run, metric)
    never = {i for i, worse in enumerate(verdicts) if worse}
    while True:
        todo = [
            i for i, (low, high) in enumerate(brackets) if i not in never and high - low > BRACKET
        ]
        if not todo:
            break
        middles = [sum(brackets[i]) / 2 for i in todo]
        worse = _are_worse([questions[i] for i in todo], middles, run, metric)
        for i, middle, is_worse in zip(todo, middles, worse, strict=True):
            brackets[i][1 if is_worse else 0] = middle
    return [
        Threshold(None, "simulated")
        if i in never
        else Threshold((low + high) / 2, "simulated", low, high)
        for i, (low, high) in enumerate(brackets)
    ]


def _are_worse(
    questions: Sequence[Question], loads: Sequence[float], run: Run, metric: str
) -> list[bool]:
    """Whether the copies are worse at the given loads."""
    points = [
        q.point(scheme, load)
        for q, load in zip(questions, loads, strict=True)
        for scheme in (NO_COPIES, STATIC)
    ]
    results = run(points)
    verdicts = []
    for i, question in enumerate(questions):
        alone, copied = results[2 * i], results[2 * i + 1]
        gap = _difference(alone, copied, metric, question.overhead_us(STATIC))
        # Equal but for rounding (deterministic times without queues): not worse.
        verdicts.append(gap.value > 1e-5 * alone.estimate_us(metric).value)
    return verdicts


def _difference(alone: PointResult, copied: PointResult, metric: str, extra_us: float) -> Estimate:
    """Copied minus alone, in us; replications are paired (they share their arrivals)."""
    samples = [
        c.metrics_us[metric] + extra_us - a.metrics_us[metric]
        for a, c in zip(alone.replications, copied.replications, strict=True)
    ]
    return Estimate(math.fsum(samples) / len(samples), half_width(samples))
