# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Throughput over time while the switch is down and after it returns with empty tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loadgen.figures.figure import Claim, Figure, Row, Settings
from loadgen.figures.sweep import EXP25, paper_model
from loadgen.plot.style import style
from loadgen.sim.model import Fault
from loadgen.sim.native import FaultKind

BUCKETS, WIDTH_S = 60, 0.001
DOWN_S, UP_S = 0.02, 0.03
DOWN, UP = round(DOWN_S / WIDTH_S), round(UP_S / WIDTH_S)
"""The same in buckets."""
LOAD = 0.5


def make(s: Settings) -> Figure:
    faults = (Fault(DOWN_S, FaultKind.SWITCH_DOWN, 0), Fault(UP_S, FaultKind.SWITCH_UP, 0))
    model = paper_model(EXP25, faults=faults)
    point = s.point(model, "netclone", LOAD, timeline_s=WIDTH_S, timeline_buckets=BUCKETS)
    requests = round(model.rate_rps(LOAD) * BUCKETS * WIDTH_S * 1.1)
    [result] = s.run([replace(point, requests=requests, replications=1)])
    rate_mrps = [count / WIDTH_S / 1e6 for count in result.replications[0].timeline]
    rows: list[Row] = [
        {"time_ms": round((i + 0.5) * WIDTH_S * 1e3, 3), "answered_mrps": round(value, 5)}
        for i, value in enumerate(rate_mrps)
    ]
    redundant = f"{result.count('slipped')} of {result.count('answered'):,}"
    claims = [
        *_claims(rate_mrps),
        Claim("redundant responses that reached a client", "temporary overhead", redundant),
    ]

    def draw(ax: list[Any]) -> None:
        times_ms = [row["time_ms"] for row in rows]
        ax[0].plot(times_ms, rate_mrps, color=style("netclone")["color"])
        ax[0].axvspan(DOWN_S * 1e3, UP_S * 1e3, color="#c44e52", alpha=0.15, label="switch down")
        ax[0].set_xlabel("time (ms)")
        ax[0].set_ylabel("answered (million requests/s)")
        ax[0].set_ylim(0, 1.3 * _before(rate_mrps))

    return Figure("switch-failure", "A switch failure over time", rows, claims, draw)


def _before(rate_mrps: list[float]) -> float:
    """Mean rate before the failure."""
    settled = rate_mrps[5 : DOWN - 1]
    return sum(settled) / len(settled)


def _claims(rate_mrps: list[float]) -> list[Claim]:
    full = 0.95 * _before(rate_mrps)
    first_full = next((i for i in range(UP, BUCKETS) if rate_mrps[i] > full), BUCKETS)
    return [
        Claim(
            "throughput while the switch is down", "zero", f"{sum(rate_mrps[DOWN + 1 : UP]):.3f}"
        ),
        Claim(
            "after its return, with empty tables",
            "back at once: the states come with the next responses",
            f"full rate within {(first_full - UP + 1) * WIDTH_S * 1e3:g} ms",
            "the sequence starts at a random id: from 0 clients would take new responses for old "
            "ones that they still remember",
        ),
    ]
