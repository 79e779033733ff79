# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The percentiles of a record, from the latencies that were measured or simulated."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol

from loadgen.workload.records import RunRecord


class Latencies(Protocol):
    """Latencies in ns, such as a histogram's."""

    count: int

    @property
    def mean_ns(self) -> float:
        """NaN when empty."""

    def quantile_ns(self, q: float) -> float:
        """Quantile `q` (0 to 1); NaN when empty."""


def with_latency(
    record: RunRecord, latency: Latencies, time_scale: float = 1.0, lost: int = 0
) -> RunRecord:
    """`record` with the percentiles of `latency` (real ns), divided by `time_scale`.

    `lost` further requests had no answer: they are later than every other, so that a
    percentile that falls among them is NaN. Mean and maximum are of what was answered.
    """
    us = 1e-3 / time_scale
    every = latency.count + lost

    def percentile(q: float) -> float:
        share = q * every / latency.count if latency.count else 2.0
        return latency.quantile_ns(share) * us if share <= 1 else math.nan

    return replace(
        record,
        p50_us=percentile(0.5),
        p90_us=percentile(0.9),
        p99_us=percentile(0.99),
        p999_us=percentile(0.999),
        max_us=latency.quantile_ns(1.0) * us,
        mean_us=latency.mean_ns * us,
    )
