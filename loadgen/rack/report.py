# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The results of `rack run`: a table, and files to keep."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from loadgen.plot.style import axes, line, style
from loadgen.workload.records import RunRecord, to_json, write_csv
from loadgen.workload.user_files import atomic_file


def table(records: Sequence[RunRecord], title: str) -> Table:
    """One row per run; times in microseconds of the unstretched service."""
    out = Table(title=title, title_justify="left")
    out.add_column("load", justify="right")
    out.add_column("scheme")
    for heading in ("offered\nKRPS", "achieved\nKRPS", "p50\nus", "p99\nus", "p99.9\nus"):
        out.add_column(heading, justify="right")
    for heading in ("clone\nrate", "redundant\nresponses", "un-\nanswered"):
        out.add_column(heading, justify="right")
    ordered = sorted(range(len(records)), key=lambda i: (records[i].load, i))
    for position, i in enumerate(ordered):
        record = records[i]
        last_of_load = (
            position + 1 == len(ordered) or records[ordered[position + 1]].load != record.load
        )
        out.add_row(
            f"{record.load:g}",
            record.scheme,
            f"{record.offered_rps / 1e3:,.0f}",
            f"{record.achieved_rps / 1e3:,.0f}",
            *(_us(value) for value in (record.p50_us, record.p99_us, record.p999_us)),
            f"{record.clone_rate:.1%}",
            f"{record.redundant:,} ({record.redundant_share:.1%})",
            f"{record.unanswered:,}",
            end_section=last_of_load,
        )
    return out


def _us(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:,.0f}"


def write_all(directory: Path, records: Sequence[RunRecord], settings: dict[str, Any]) -> None:
    """`summary.json`, `latency.csv` and `latency.png` in `directory`, created if need be."""
    directory.mkdir(parents=True, exist_ok=True)
    write_csv(directory / "latency.csv", records)
    _plot(directory / "latency.png", records, settings)
    summary = {
        "settings": settings,
        "machine": {"kernel": platform.release(), "cpus": os.cpu_count()},
        "p99_over_baseline": p99_ratios(records),
        "records": json.loads(to_json(records)),
    }
    with atomic_file(directory / "summary.json") as out:
        out.write(json.dumps(summary, indent=1) + "\n")


def p99_ratios(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """p99 of each run over the baseline's at the same load."""
    baseline = {record.load: record.p99_us for record in records if record.scheme == "baseline"}
    return [
        {
            "load": record.load,
            "scheme": record.scheme,
            "ratio": round(record.p99_us / baseline[record.load], 4),
        }
        for record in records
        if record.scheme != "baseline"
        and baseline.get(record.load, math.nan) > 0
        and not math.isnan(record.p99_us)
    ]


def _plot(path: Path, records: Sequence[RunRecord], settings: dict[str, Any]) -> None:
    """p99 and median over the achieved rate, one curve per scheme."""
    with axes(path, columns=2) as (left, right):
        for ax, key, name in ((left, "p99_us", "p99"), (right, "p50_us", "median")):
            for position, scheme in enumerate(dict.fromkeys(r.scheme for r in records)):
                runs = sorted((r for r in records if r.scheme == scheme), key=lambda r: r.load)
                rates = [run.achieved_rps / 1e6 for run in runs]
                values = [getattr(run, key) for run in runs]
                line(ax, rates, values, scheme, style(scheme, position))
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
            ax.set_xlim(left=0)
            ax.set_xlabel("achieved rate (million requests a second)")
            ax.set_ylabel(f"{name} latency (us, log scale)")
        left.get_figure().suptitle(str(settings["title"]), fontsize=10)
