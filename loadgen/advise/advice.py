# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Should I clone? The load below which copies shorten the response time, and by how much.

Analytic where the answer is known (one worker a server, exponential or deterministic service
times), simulated otherwise; every answer says which. The network takes no time here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from loadgen.sim import theory
from loadgen.sim.model import Model, Point, RequestClass, with_replications
from loadgen.sim.run import PointResult, run_points
from loadgen.workload.confidence import Estimate, half_width
from loadgen.workload.distributions import Kind
from loadgen.workload.services import Workload
from netclone_host.errors import UserError

Run = Callable[[Sequence[Point]], list[PointResult]]
LOWEST_LOAD = 0.02
BRACKET = 0.004
"""A search ends when the threshold is known to lie in an interval this wide."""
DEFAULT_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
STATIC, DYNAMIC, RESERVE = "c-clone", "netclone", "netclone+reserve"


@dataclass(frozen=True)
class Question:
    """Servers, their work, and what a copy costs the client. Times in ns."""

    workload: Workload
    servers: int
    workers: int = 1
    copies: int = 2
    overhead_ns: float = 0.0
    """What the client loses on every request that it sends more than once."""
    requests: int = 400_000
    seed: int = 1

    def check(self) -> None:
        """Raises `UserError` for what cannot be asked."""
        if not 2 <= self.copies <= 16:
            raise UserError(f"--copies: {self.copies} is out of range", "give 2 to 16")
        if self.copies > self.servers:
            raise UserError(
                f"{self.copies} copies cannot go to {self.servers} different servers",
                "give more servers or fewer copies",
            )
        self.model().check()

    def model(self) -> Model:
        return Model(
            classes=(RequestClass(self.workload),),
            workers=(self.workers,) * self.servers,
            clients=1,
            copies=self.copies,
            link_ns=0.0,
            switch_ns=0.0,
            # Long queues: a full one would hide how late its requests are.
            queue_limit=1 << 16,
        )

    def point(self, scheme: str, load: float) -> Point:
        point = Point(self.model(), scheme, load, self.requests, seed=self.seed)
        return with_replications(point, 10)


@dataclass(frozen=True)
class Threshold:
    """Largest load below which the copies are better; None: they never are."""

    load: float | None
    method: str
    low: float | None = None
    high: float | None = None
    """Simulated: the load lies between these."""


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


def _difference(alone: PointResult, copied: PointResult, metric: str, extra_us: float) -> Estimate:
    """Copied minus alone, in us; replications are paired (they share their arrivals)."""
    samples = [
        c.metrics_us[metric] + extra_us - a.metrics_us[metric]
        for a, c in zip(alone.replications, copied.replications, strict=True)
    ]
    return Estimate(math.fsum(samples) / len(samples), half_width(samples))


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
        for scheme in ("baseline", STATIC)
    ]
    results = run(points)
    verdicts = []
    for i, question in enumerate(questions):
        alone, copied = results[2 * i], results[2 * i + 1]
        gap = _difference(alone, copied, metric, question.overhead_ns * 1e-3)
        # Equal but for rounding (deterministic times without queues): not worse.
        verdicts.append(gap.value > 1e-5 * alone.estimate_us(metric).value)
    return verdicts


def find_threshold(question: Question, run: Run = run_points, metric: str = "mean") -> Threshold:
    """Threshold load of `mean` or `p99`."""
    question.check()
    if question.overhead_ns >= question.workload.mean_ns and metric == "mean":
        return Threshold(None, "analytic: the overhead is as long as the service")
    known = _analytic(question, metric)
    return known or simulated_thresholds([question], run, metric)[0]


# ---- predictions ----


@dataclass(frozen=True)
class Prediction:
    """Response times in us at one load, without copies and with them."""

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
    """What to expect at `loads`, by scheme: none, static copies, dynamic cloning."""
    question.check()
    schemes = ["baseline", STATIC, DYNAMIC, RESERVE]
    return [
        _prediction(question, result)
        for result in run([question.point(scheme, load) for load in loads for scheme in schemes])
    ]


def _prediction(question: Question, result: PointResult) -> Prediction:
    point = result.point
    # A switch that clones also filters: the client sends and reads one packet.
    extra = question.overhead_ns * 1e-3 if point.scheme == STATIC else 0.0
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


def advice(question: Question, mean: Threshold, p99: Threshold, load: float | None) -> str:
    """One sentence that says what to do."""
    if mean.load is None:
        if p99.load is None:
            return "Do not send copies: they never shorten the mean or the 99th percentile."
        return (
            "Do not send copies for the mean; the 99th percentile gains below a load of "
            f"{p99.load:.2f}."
        )
    if load is None:
        return (
            f"Send {question.copies} copies while the load is below {mean.load:.2f}; above, let "
            "the switch decide (netclone) or send one."
        )
    if load < 0.9 * mean.load:
        return (
            f"Send {question.copies} copies: at a load of {load:g} they shorten the mean, and "
            f"do so up to {mean.load:.2f}."
        )
    if load < mean.load:
        return (
            f"Clone in the switch: static copies still help at {load:g}, but their limit, "
            f"{mean.load:.2f}, is near."
        )
    return (
        f"Do not send static copies: at a load of {load:g}, above {mean.load:.2f}, they "
        "lengthen the mean; cloning in the switch still helps where servers are idle."
    )


def answer(question: Question, load: float | None, run: Run = run_points) -> dict[str, Any]:
    """Everything that `advise --json` writes; times in us, infinite ones as null."""
    mean = find_threshold(question, run)
    p99 = find_threshold(question, run, "p99")
    found: dict[str, Any] = {
        "threshold_load": mean.load,
        "threshold_method": mean.method,
        "threshold_bracket": [mean.low, mean.high],
        "threshold_load_p99": p99.load,
        "threshold_method_p99": p99.method,
        "threshold_bracket_p99": [p99.low, p99.high],
    }
    if mean.low is None and mean.load is not None:
        # What the formulas leave out: queues of few servers are not independent.
        [check] = simulated_thresholds([replace(question, seed=question.seed + 1)], run)
        found["threshold_load_simulated"] = check.load
    predictions = predict(question, [load] if load is not None else DEFAULT_LOADS, run)
    found |= {
        "service": question.workload.service.text,
        "jitter": str(question.workload.jitter),
        "servers": question.servers,
        "workers": question.workers,
        "copies": question.copies,
        "client_overhead_us": question.overhead_ns * 1e-3,
        "load": load,
        "predictions": [asdict(p) for p in predictions],
        "predictions_method": "simulated",
        "advice": advice(question, mean, p99, load),
    }
    return found
