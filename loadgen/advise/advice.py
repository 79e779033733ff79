# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Should I clone? The answer of `netclone-loadgen advise`: thresholds, predictions, a sentence.

Every number says whether it is analytic or simulated. The network takes no time here.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from loadgen.advise.prediction import DEFAULT_LOADS, predict
from loadgen.advise.question import Question, Run
from loadgen.advise.threshold import Threshold, find_threshold, simulated_thresholds
from loadgen.sim.run import run_points


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
