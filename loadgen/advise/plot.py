# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The advisor's plot: response time against load, and where copies stop paying."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loadgen.advise.prediction import DEFAULT_LOADS, SCHEMES, predict
from loadgen.advise.question import STATIC, Question, Run
from loadgen.plot.style import axes, line, style


def draw(question: Question, found: dict[str, Any], path: Path, run: Run) -> None:
    """Writes a PNG: mean and 99th percentile of every scheme. Raises `UserError`."""
    predictions = predict(question, DEFAULT_LOADS, run)
    with axes(path, 1, 2) as (left, right):
        for ax, metric, threshold in (
            (left, "mean", found["threshold_load"]),
            (right, "p99", found["threshold_load_p99"]),
        ):
            for scheme in SCHEMES:
                shown = [p for p in predictions if p.scheme == scheme and not p.overloaded]
                times = [getattr(p, f"{metric}_us") for p in shown]
                label = f"{question.copies} copies" if scheme == STATIC else scheme
                line(ax, [p.load for p in shown], times, label, style(scheme))
            if threshold is not None:
                ax.axvline(threshold, color="black", linewidth=0.8, linestyle=":")
            ax.set_yscale("log")
            ax.set_xlabel("load")
            ax.set_ylabel(f"{metric} of the response time (us)")
        left.set_title(f"{question.workload.service.text}, {question.servers} servers")
