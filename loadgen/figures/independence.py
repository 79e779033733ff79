# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Mean response time with two copies: simulated queues against independent ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadgen.figures.figure import Claim, Figure, Row, Settings
from loadgen.figures.single_worker import CONST, LOADS, single_worker_model
from loadgen.plot.style import line, numbered
from loadgen.sim import theory

FORMULAS = {"exp:1ms": theory.exponential_mean, CONST: theory.deterministic_mean}
SERVERS = (10, 20)
LOW_LOADS = [x for x in LOADS if x <= 0.3]

Errors = dict[tuple[str, int, float], float]
"""Simulated over independent, less 1, by (service, servers, load)."""


def make(s: Settings) -> Figure:
    keys = [(x, n, load) for x in FORMULAS for n in SERVERS for load in LOADS]
    # Few servers reach their long-run state slowly: more requests.
    found = s.run(
        [s.point(single_worker_model(x, n), "c-clone", load, scale=4) for x, n, load in keys]
    )
    errors: Errors = {}
    rows: list[Row] = []
    for (service, n, load), result in zip(keys, found, strict=True):
        truth = FORMULAS[service](1.0, 2, load)
        e = result.estimate_us("mean")
        errors[service, n, load] = (e.value * 1e-3 - truth) / truth
        rows.append(
            {
                "service": service,
                "servers": n,
                "load": load,
                "simulated": round(e.value * 1e-3, 6),
                "half_width": round(e.half_width * 1e-3, 6),
                "independent": round(truth, 6),
                "relative_error": round(errors[service, n, load], 6),
            }
        )

    def draw(ax: list[Any]) -> None:
        _draw(ax[0], errors)

    title = "Accuracy of the independence approximation"
    return Figure("independence", title, rows, _claims(errors), draw)


def _claims(errors: Errors) -> list[Claim]:
    def worst(n: int, loads: Sequence[float]) -> str:
        return f"{max(abs(errors[x, n, load]) for x in FORMULAS for load in loads):.2%}"

    note = (
        "copies of one request meet in the same queues again and again; the error falls "
        "like 1 / servers here, so 20 servers halve it and do not divide it by 30"
    )
    return [
        Claim(
            f"worst error, {n} servers: up to the threshold (load 0.3), and up to 0.45",
            said,
            f"{worst(n, LOW_LOADS)}, {worst(n, LOADS)}",
            why,
        )
        for n, said, why in ((10, "3 %", ""), (20, "below 0.1 %", note))
    ]


def _draw(ax: Any, errors: Errors) -> None:
    for position, (service, n) in enumerate((x, n) for x in FORMULAS for n in SERVERS):
        label = f"{'exponential' if service != CONST else 'deterministic'}, {n} servers"
        percent = [100 * errors[service, n, x] for x in LOADS]
        line(ax, LOADS, percent, label, numbered(position))
    ax.set_xlabel("load")
    ax.set_ylabel("simulated over independent - 1 (%)")
