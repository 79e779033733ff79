# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A sweep with a bar and a line per run, for those who watch."""

from __future__ import annotations

import math
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from loadgen.rack.sweep import Run, Servers, SweepSettings, sweep
from loadgen.workload.records import RunRecord

WIDTH = 110
"""Columns of what does not go to a terminal."""


def progress_console() -> Console:
    """Progress goes to standard error: standard output has the results alone."""
    return Console(stderr=True, width=None if sys.stderr.isatty() else WIDTH)


def sweep_with_progress(
    servers: Servers, settings: SweepSettings, console: Console
) -> list[RunRecord]:
    """The records of the whole sweep."""
    records: list[RunRecord] = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        task = progress.add_task("starting", total=settings.n_runs)

        def starts(now: Run) -> None:
            progress.update(task, description=f"{now.scheme.name} at {_point(now)}")

        for record in sweep(servers, settings, starts):
            records.append(record)
            progress.advance(task)
            progress.console.print(_line(record), style="dim", highlight=False)
    return records


def _point(run: Run) -> str:
    return f"{run.rate_rps:,.0f}/s" if math.isnan(run.load) else f"load {run.load:g}"


def _line(record: RunRecord) -> str:
    at = f"{record.offered_rps:9,.0f}/s" if math.isnan(record.load) else f"load {record.load:<4g}"
    line = (
        f"{at} {record.scheme:<18} p50 {record.p50_us:7.0f}  p99 "
        f"{record.p99_us:7.0f} us  achieved {record.achieved_share:6.1%}  "
        f"cloned {record.clone_rate:6.1%}"
    )
    return line + (f"  ({record.note})" if record.note else "")
