# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Latency against throughput of records: a line per scheme, with bands over repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from loadgen.plot.style import axes, line, style
from loadgen.workload.records import RunRecord
from netclone_host.errors import UserError

# Two-sided 95 % quantiles of Student's t by degrees of freedom; beyond: the normal's.
_T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
_T95_LIMIT = 1.96

LATENCIES = ("p50_us", "p90_us", "p99_us", "p999_us", "mean_us", "max_us")


@dataclass(frozen=True)
class Point:
    """Repeats of one scheme at one offered rate: means, and half of a 95 % interval."""

    throughput_rps: float
    latency_us: float
    half_us: float
    repeats: int


def _groups(records: Sequence[RunRecord]) -> dict[tuple[str, float], list[RunRecord]]:
    """Repeats: runs of the same scheme and load (or offered rate, where no load is known)."""
    groups: dict[tuple[str, float], list[RunRecord]] = {}
    for record in records:
        key = record.load if math.isfinite(record.load) else round(record.offered_rps, -1)
        groups.setdefault((record.scheme, key), []).append(record)
    return groups


def points(records: Sequence[RunRecord], latency: str) -> dict[str, list[Point]]:
    """Scheme -> its points by rising throughput. A repeat that lost requests may not know its
    latency; then there is no point, since the other repeats would flatter."""
    lines: dict[str, list[Point]] = {}
    for (scheme, _), runs in _groups(records).items():
        values = [getattr(r, latency) for r in runs]
        if all(map(math.isfinite, values)):
            lines.setdefault(scheme, []).append(
                Point(
                    fmean(r.achieved_rps for r in runs), fmean(values), _half(values), len(values)
                )
            )
    for drawn in lines.values():
        drawn.sort(key=lambda p: p.throughput_rps)
    return lines


def left_out(records: Sequence[RunRecord], latency: str) -> int:
    """How many points `points` leaves out."""
    return len(_groups(records)) - sum(map(len, points(records, latency).values()))


def _half(values: Sequence[float]) -> float:
    """Half the width of the mean's 95 % confidence interval; 0 for one value."""
    n = len(values)
    if n < 2:
        return 0.0
    t = _T95[n - 2] if n - 2 < len(_T95) else _T95_LIMIT
    return t * stdev(values) / math.sqrt(n)


def plot_records(
    records: Sequence[RunRecord], target: Path, latency: str = "p99_us", title: str = ""
) -> list[Path]:
    """Draws `target` with the suffixes .png and .svg; returns both. Raises `UserError`."""
    if latency not in LATENCIES:
        raise UserError(f"'{latency}' is no latency of a record", f"one of {', '.join(LATENCIES)}")
    lines = points(records, latency)
    if not lines:
        raise UserError(
            f"no record has a {latency} to draw",
            "give records of runs with answers; the median (--latency p50_us) is known longest",
        )
    files = [with_suffix(target, suffix) for suffix in (".png", ".svg")]
    with axes(files) as (ax,):
        for position, (scheme, drawn) in enumerate(lines.items()):
            _draw(ax, scheme, drawn, position)
        ax.set_yscale("log")
        ax.set_xlabel("throughput (KRPS)")
        ax.set_ylabel(f"{_label(latency)} latency (us)")
        # An argument that is no UTF-8 has characters that cannot be drawn.
        ax.set_title(title.encode(errors="replace").decode() or _title(records))
    return files


def _draw(ax: Any, scheme: str, drawn: Sequence[Point], position: int) -> None:
    low = [max(p.latency_us - p.half_us, p.latency_us * 1e-2) for p in drawn]
    high = [p.latency_us + p.half_us for p in drawn]
    line(
        ax,
        [p.throughput_rps / 1e3 for p in drawn],
        [p.latency_us for p in drawn],
        scheme,
        style(scheme, position),
        (low, high) if any(p.half_us for p in drawn) else None,
    )


def with_suffix(target: Path, suffix: str) -> Path:
    """`target` with another suffix, or one. Raises `UserError` if it names no file."""
    if not target.name or target.name == "..":
        raise UserError(f"'{target}' names no file", "give a path such as out/latency")
    return target.with_suffix(suffix)


def _label(latency: str) -> str:
    name = latency.removesuffix("_us")
    return {"p999": "99.9th percentile", "p99": "99th percentile", "p50": "median"}.get(name, name)


def _title(records: Sequence[RunRecord]) -> str:
    first = records[0]
    jitter = "" if first.jitter == "none" else f", jitter {first.jitter}"
    return f"{first.service}{jitter}"
