# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""k of n independent services, from measured response times (as for DNS servers).

The trace is a table of durations: a column a service, with or without names in the first
line; an empty cell or `lost` is a request that was never answered. A single column stands
for n services alike.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loadgen.workload.distributions import FloatArray
from loadgen.workload.user_files import read_text
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError

LOST = ("", "lost", "inf", "timeout")


@dataclass(frozen=True)
class Copies:
    """The k best services asked at once; times in ms."""

    copies: int
    services: tuple[str, ...]
    mean_ms: float
    p50_ms: float
    p99_ms: float
    later: dict[str, float]
    """Fraction later than each bound."""
    mean_saving_ms_per_kb: float
    """What the last copy saves for each KB that it costs."""
    p99_saving_ms_per_kb: float


def _cell(text: str, where: str) -> float:
    """Milliseconds; infinite for a request that was never answered."""
    text = text.strip()
    if text.lower() in LOST:
        return float("inf")
    try:
        return float(text)
    except ValueError:
        return parse_duration_ns(text, where) * 1e-6


def read_trace(path: Path) -> tuple[list[str], list[FloatArray]]:
    """Names of the services, and the sorted times in ms of each. Raises `UserError`."""
    hint = "give a CSV file, one column a service, times as 12.5 (ms) or 12.5ms"
    try:
        rows = [row for row in csv.reader(read_text(path).splitlines()) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read '{path}': {error}", hint) from error
    if not rows:
        raise UserError(f"'{path}' is empty", hint)
    width = len(rows[0])
    names = [f"service {i + 1}" for i in range(width)]
    try:
        [_cell(cell, "header") for cell in rows[0]]
    except UserError:
        names, rows = [cell.strip() for cell in rows[0]], rows[1:]
    if not rows:
        raise UserError(f"'{path}' holds no times", hint)
    columns: list[list[float]] = [[] for _ in range(width)]
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise UserError(f"'{path}', row {number}: {len(row)} cells, not {width}", hint)
        for column, cell in zip(columns, row, strict=True):
            value = _cell(cell, f"'{path}', row {number}")
            if not value >= 0:
                raise UserError(f"'{path}', row {number}: '{cell}' is not a time", hint)
            column.append(value)
    return names, [np.sort(np.array(column)) for column in columns]


def _tail(times: FloatArray, at: FloatArray) -> FloatArray:
    """P(time > t) for every t of `at`."""
    return 1 - np.searchsorted(times, at, side="right") / len(times)


def _least(services: list[FloatArray], cap_ms: float) -> tuple[FloatArray, FloatArray]:
    """(times, P(least of the services > time)) at every time where a tail falls."""
    times = np.unique(np.concatenate([np.minimum(s, cap_ms) for s in services]))
    tail = np.ones_like(times)
    for service in services:
        tail *= _tail(service, times)
    tail[times >= cap_ms] = 0.0
    return times, tail


def _mean(times: FloatArray, tail: FloatArray) -> float:
    before = np.concatenate(([1.0], tail[:-1]))
    return float(np.sum(np.diff(times, prepend=0.0) * before))


def _quantile(times: FloatArray, tail: FloatArray, q: float) -> float:
    return float(times[int(np.argmax(tail <= 1 - q + 1e-12))])


def analyse(
    path: Path,
    bounds_ms: list[float],
    *,
    services: int | None = None,
    kb_per_copy: float = 0.5,
    worth_ms_per_kb: float = 16.0,
    timeout_ms: float = 2000.0,
) -> dict[str, Any]:
    """What `advise redundancy --json` writes.

    Services are asked in the order of their means; their times are taken for independent.
    An answer that takes longer than `timeout_ms` counts as that in means and percentiles. A
    further copy pays while it saves `worth_ms_per_kb`.
    """
    names, columns = read_trace(path)
    if len(columns) == 1 and services:
        names = [f"{names[0]} #{i + 1}" for i in range(services)]
        columns = columns * services
    order = sorted(
        range(len(columns)), key=lambda i: float(np.mean(np.minimum(columns[i], timeout_ms)))
    )
    table: list[Copies] = []
    for k in range(1, len(order) + 1):
        chosen = [columns[i] for i in order[:k]]
        times, tail = _least(chosen, timeout_ms)
        mean, p99 = _mean(times, tail), _quantile(times, tail, 0.99)
        last = table[-1] if table else None
        table.append(
            Copies(
                copies=k,
                services=tuple(names[i] for i in order[:k]),
                mean_ms=mean,
                p50_ms=_quantile(times, tail, 0.5),
                p99_ms=p99,
                later={
                    f"{bound:g}": float(np.prod([_tail(s, np.array([bound]))[0] for s in chosen]))
                    for bound in bounds_ms
                },
                mean_saving_ms_per_kb=(last.mean_ms - mean) / kb_per_copy if last else 0.0,
                p99_saving_ms_per_kb=(last.p99_ms - p99) / kb_per_copy if last else 0.0,
            )
        )
    for_mean = _last_that_pays([c.mean_saving_ms_per_kb for c in table], worth_ms_per_kb)
    for_p99 = _last_that_pays([c.p99_saving_ms_per_kb for c in table], worth_ms_per_kb)
    return {
        "trace": path.name,
        "method": "independent services, measured distributions",
        "copies": [asdict(c) for c in table],
        "worth_ms_per_kb": worth_ms_per_kb,
        "copies_for_mean": for_mean,
        "copies_for_p99": for_p99,
        "advice": (
            f"Ask {for_mean} of {len(order)} services at once for the mean, {for_p99} for the "
            f"99th percentile: a further copy saves less than {worth_ms_per_kb:g} ms per KB."
        ),
    }


def _last_that_pays(savings: list[float], worth: float) -> int:
    """Number of copies up to the last one that saves `worth`; savings[0] is the first copy's."""
    paying = [k for k, saving in enumerate(savings, 1) if k > 1 and saving >= worth]
    return max(paying, default=1)
