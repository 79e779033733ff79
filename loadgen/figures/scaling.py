# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Throughput and tail as servers are added."""

from __future__ import annotations

from typing import Any

from loadgen.figures.figure import Claim, Figure, Settings
from loadgen.figures.sweep import (
    EXP25,
    Results,
    most_throughput,
    paper_model,
    ratio,
    rows_of,
    sweep,
    us,
)
from loadgen.plot.style import line, style

SERVERS = (2, 4, 6, 12, 24)
SCHEMES = ("baseline", "c-clone", "laedge", "netclone")


def make(s: Settings) -> Figure:
    # Short queues, so that an overloaded coordinator settles within the run.
    panels = {f"{n}": paper_model(EXP25, workers=(15,) * n, queue_limit=256) for n in SERVERS}
    results = sweep(s, panels, SCHEMES, (0.4, 0.9), scale=0.5)

    def draw(ax: list[Any]) -> None:
        _draw(ax, results)

    title = "Scaling with the number of servers"
    rows = rows_of(results, "servers")
    return Figure("scaling", title, rows, _claims(results), draw, (1, 2))


def _claims(results: Results) -> list[Claim]:
    def growth(scheme: str) -> str:
        most = [most_throughput(results, panel, scheme) for panel in ("24", "2")]
        return f"{most[0] / most[1]:.1f} times"

    gains = [ratio(results, f"{n}", 0.4, "baseline", "netclone") for n in SERVERS]
    return [
        Claim(
            "throughput of 24 servers over 2, NetClone",
            "scales with the servers",
            growth("netclone"),
        ),
        Claim("the same, LAEDGE", "does not scale: the coordinator", growth("laedge")),
        Claim(
            "p99 of the baseline over NetClone, load 0.4, by servers",
            "the gain stays",
            ", ".join(f"{gain:.2f}" for gain in gains),
        ),
    ]


def _draw(ax: list[Any], results: Results) -> None:
    for scheme in SCHEMES:
        most = [most_throughput(results, f"{n}", scheme) / 1e6 for n in SERVERS]
        tail = [us(results, f"{n}", scheme, 0.4) for n in SERVERS]
        line(ax[0], SERVERS, most, scheme, style(scheme))
        line(ax[1], SERVERS, tail, scheme, style(scheme))
    ax[0].set_ylabel("highest throughput (million requests/s)")
    ax[1].set_ylabel("p99 latency at load 0.4 (us)")
    ax[1].set_yscale("log")
    for each in ax:
        each.set_xlabel("servers of 15 workers, Exp(25)")
