# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A progress bar on standard error while simulations run."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from loadgen.sim.model import Point
from loadgen.sim.run import PointResult, run_points


def simulated(
    points: Sequence[Point],
    processes: int | None = None,
    scheduler: str | None = None,
    title: str = "simulating",
) -> list[PointResult]:
    """`run_points` with a bar that counts requests; nothing where there is no terminal."""
    total = sum(p.requests_each * p.replications for p in points)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        return run_points(points, processes, scheduler, lambda n: progress.update(task, advance=n))
