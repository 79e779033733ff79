# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Queues whose answers are known: M/M/k, M/G/1, M/D/1, and k copies to independent servers.

Times are in any unit, the same everywhere in a call; `load` is the fraction of the workers'
time that originals take. Servers of the replicated queues have one worker each and are taken
for independent, which is exact as their number grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from loadgen.workload.distributions import FloatArray

TINY = 1e-9


def erlang_c(workers: int, load: float) -> float:
    """Probability that a request waits in M/M/`workers` at `load` below 1."""
    offered = workers * load
    # Erlang B by its recursion, which neither overflows nor cancels.
    blocked = 1.0
    for n in range(1, workers + 1):
        blocked = offered * blocked / (n + offered * blocked)
    return blocked / (1 - load * (1 - blocked))


def mmk_mean(mean: float, workers: int, load: float) -> float:
    """Mean response time of M/M/`workers` with mean service time `mean`."""
    return mean + erlang_c(workers, load) * mean / (workers * (1 - load))


def mmk_tail(t: float, mean: float, workers: int, load: float) -> float:
    """P(response time > t) of M/M/`workers`, first come first served."""
    wait = erlang_c(workers, load)
    service = 1 / mean
    drain = workers * service * (1 - load)
    if abs(drain - service) < TINY * service:
        return math.exp(-service * t) * (1 + wait * service * t)
    both = (drain * math.exp(-service * t) - service * math.exp(-drain * t)) / (drain - service)
    return (1 - wait) * math.exp(-service * t) + wait * both


def mmk_quantile(q: float, mean: float, workers: int, load: float) -> float:
    """Quantile `q` of the response time of M/M/`workers`."""
    high = mean
    while mmk_tail(high, mean, workers, load) > 1 - q:
        high *= 2
    return bisect(lambda t: (1 - q) - mmk_tail(t, mean, workers, load), 0.0, high)


def mg1_mean(mean: float, second_moment: float, load: float) -> float:
    """Mean response time of M/G/1 (Pollaczek-Khinchine)."""
    return mean + load * second_moment / (2 * mean * (1 - load))


def bisect(f: Callable[[float], float], low: float, high: float, steps: int = 100) -> float:
    """Where the increasing function `f` goes through 0 in [low, high]."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if f(middle) >= 0 else (middle, high)
    return (low + high) / 2


# ---- k copies of every request, exponential service times ----


def exponential_mean(mean: float, copies: int, load: float) -> float:
    """Mean response time with `copies` copies; infinite where they overload the servers.

    The response time of M/M/1 is exponential, and so is the least of several.
    """
    left = 1 - copies * load
    return mean / (copies * left) if left > 0 else math.inf


def exponential_quantile(q: float, mean: float, copies: int, load: float) -> float:
    """Quantile `q` with `copies` copies."""
    return -math.log1p(-q) * exponential_mean(mean, copies, load)


# ---- k copies of every request, deterministic service times ----


def md1_tail(times: FloatArray, load: float) -> FloatArray:
    """P(waiting time > t) of M/D/1 with service time 1, for every t >= 0 of `times` (Erlang).

    The terms alternate: at loads up to 0.9 and times up to 40 the error stays below 1e-6.
    """
    below = np.zeros_like(times)
    for j in range(int(times.max()) + 1):
        left = load * np.maximum(times - j, TINY)
        term = np.exp(j * np.log(left) + left - math.lgamma(j + 1))
        below += np.where(times >= j, (-1.0) ** j * term, 0.0)
    return np.clip(1 - (1 - load) * below, 0.0, 1.0)


def deterministic_mean(mean: float, copies: int, load: float) -> float:
    """Mean response time with `copies` copies of service time `mean`."""
    if copies * load >= 1:
        return math.inf
    if copies == 1:
        return mg1_mean(mean, mean * mean, load)
    # The tail falls like exp(-theta t): past `end` it adds less than the grid's error.
    times = np.linspace(0.0, _md1_end(copies * load), 20_001)
    tails = md1_tail(times, copies * load) ** copies
    return mean * (1 + float(np.trapezoid(tails, times)))


def deterministic_quantile(q: float, mean: float, copies: int, load: float) -> float:
    """Quantile `q` with `copies` copies of service time `mean`."""
    if copies * load >= 1:
        return math.inf
    times = np.linspace(0.0, _md1_end(copies * load), 20_001)
    tails = md1_tail(times, copies * load) ** copies
    return mean * (1 + float(times[int(np.argmax(tails <= 1 - q))]))


def _md1_end(load: float) -> float:
    return 16.0 if load <= 0.6 else 24.0


def threshold(
    alone: Callable[[float], float], copied: Callable[[float], float], copies: int
) -> float | None:
    """Largest load below which `copied(load)` is below `alone(load)`; None: it never is.

    Never above 1 / copies: there the copies alone take all of the servers' time.
    """
    start = 1e-3
    if copied(start) >= alone(start):
        return None
    return bisect(lambda load: copied(load) - alone(load), start, 1 / copies)


PUBLISHED_DETERMINISTIC_THRESHOLD = 0.2582
"""Two copies, deterministic service times: the approximation that the literature gives. The
formulas above put it at 0.272 for independent queues; with 20 servers, whose queues are not
quite independent, simulation finds 0.262, with 10 servers 0.250."""


def exponential_threshold(copies: int) -> float:
    """k (1 - k rho) = 1 - rho, so rho = 1 / (k + 1): 1/3 for two copies."""
    return 1 / (copies + 1)
