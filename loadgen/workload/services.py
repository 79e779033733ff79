# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a request costs its server: a service time, and the jitter that comes on top.

The paper adds unexpected variability by making 1 % of the requests take 15 times as long
(`--jitter 0.01x15`). Load is defined with the mean that includes it: at load 1 all
workers of all servers are busy all the time.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from loadgen.workload.distributions import Distribution, FloatArray, parse_distribution
from netclone_host.errors import UserError


@dataclass(frozen=True)
class Jitter:
    """With this probability a request takes `factor` times as long."""

    probability: float
    factor: float

    @property
    def mean_factor(self) -> float:
        """How much longer the mean becomes."""
        return 1 + self.probability * (self.factor - 1)

    def __str__(self) -> str:
        return f"{self.probability:g}x{self.factor:g}" if self.probability else "none"


NO_JITTER = Jitter(0.0, 1.0)


def parse_jitter(text: str) -> Jitter:
    """`0.01x15` or `none`. Raises `UserError` that says which part is wrong."""
    if text.strip() in ("", "none", "0"):
        return NO_JITTER
    usage = "write it as PxM, such as 0.01x15 (1 % take 15 times as long), or none"
    match = re.fullmatch(r"([^x]+)x([^x]+)", text.strip())
    if match is None:
        raise UserError(f"jitter '{text}' is not of the form PxM", usage)
    values = []
    for part, word, most in zip(("P", "M"), match.groups(), (1.0, math.inf), strict=True):
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not (0 <= value <= most) or math.isinf(value):
            wanted = "a probability" if part == "P" else "a factor of 0 or more"
            raise UserError(f"jitter '{text}', part {part}: '{word}' is not {wanted}", usage)
        values.append(value)
    return Jitter(*values)


@dataclass(frozen=True)
class Workload:
    """Service times of one kind of request (section 5.1 of the paper: synthetic workloads)."""

    service: Distribution
    jitter: Jitter = NO_JITTER

    @property
    def mean_ns(self) -> float:
        """Mean service time in ns, jitter included."""
        return self.service.mean_ns * self.jitter.mean_factor

    def cdf(self, ns: FloatArray) -> FloatArray:
        """P(service time <= x), jitter included, for every x of `ns`."""
        p, factor = self.jitter.probability, self.jitter.factor
        if not p:
            return self.service.cdf(ns)
        slow = self.service.cdf(ns / factor) if factor else (ns >= 0).astype(float)
        return (1 - p) * self.service.cdf(ns) + p * slow

    def rate_rps(self, load: float, servers: int, workers: int, time_scale: float = 1.0) -> float:
        """Requests per second that keep `servers` x `workers` busy to the fraction `load`.

        With `time_scale` above 1 every service takes that many times as long, so the rate
        is that many times lower.
        """
        return load * servers * workers / (self.mean_ns * time_scale * 1e-9)


def parse_workload(service: str, jitter: str = "none") -> Workload:
    """A workload from the texts of `--service` and `--jitter`; raises `UserError`."""
    return Workload(parse_distribution(service), parse_jitter(jitter))
