# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Confidence intervals over independent replications."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95 % and 99 %, for 1 to 30 degrees of freedom; then the normal's.
_T = {
    0.95: (
        *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
        *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
        *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
    ),
    0.99: (
        *(63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169),
        *(3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845),
        *(2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750),
    ),
}
_NORMAL = {0.95: 1.960, 0.99: 2.576}


def student_t(degrees: int, confidence: float = 0.95) -> float:
    """Two-sided quantile of Student's distribution, for a confidence of 0.95 or 0.99."""
    table = _T[confidence]
    return table[degrees - 1] if degrees <= len(table) else _NORMAL[confidence]


@dataclass(frozen=True)
class Estimate:
    """A value and the half width of its confidence interval (NaN: too few replications)."""

    value: float
    half_width: float = math.nan

    @property
    def low(self) -> float:
        return self.value - self.half_width

    @property
    def high(self) -> float:
        return self.value + self.half_width

    def covers(self, value: float) -> bool:
        """Whether `value` lies in the interval."""
        return self.low <= value <= self.high


def half_width(samples: Sequence[float], confidence: float = 0.95) -> float:
    """Half width of the interval of the mean of independent samples; NaN for one sample."""
    n = len(samples)
    if n < 2 or not all(math.isfinite(x) for x in samples):
        return math.nan
    mean = math.fsum(samples) / n
    variance = math.fsum((x - mean) ** 2 for x in samples) / (n - 1)
    return student_t(n - 1, confidence) * math.sqrt(variance / n)


def estimate(samples: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Mean of independent samples with its interval."""
    return Estimate(math.fsum(samples) / len(samples), half_width(samples, confidence))
