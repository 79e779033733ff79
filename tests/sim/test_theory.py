# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The simulator against queues whose answers are known (99 % confidence, fixed seeds)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from loadgen.sim import theory
from tests.sim.conftest import queue_model, simulate_point

US = 1e-3


def covers(estimate_value: float, half_width: float, truth: float) -> bool:
    """Inside the interval, with room for what is left of the warm-up (0.2 %)."""
    return abs(estimate_value - truth) <= half_width + 0.002 * truth


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7])
def test_mm1_mean_and_tail(load: float) -> None:
    result = simulate_point(queue_model("exp:25us", (1,)), "baseline", load, 400_000)
    mean = result.estimate_us("mean", 0.99)
    assert covers(mean.value, mean.half_width, theory.mmk_mean(25, 1, load))
    p99 = result.estimate_us("p99", 0.99)
    assert covers(p99.value, p99.half_width, theory.mmk_quantile(0.99, 25, 1, load))


@pytest.mark.parametrize(("workers", "load"), [(2, 0.6), (15, 0.5), (15, 0.9)])
def test_mmk_mean_and_tail(workers: int, load: float) -> None:
    result = simulate_point(queue_model("exp:25us", (workers,)), "baseline", load, 400_000)
    mean = result.estimate_us("mean", 0.99)
    assert covers(mean.value, mean.half_width, theory.mmk_mean(25, workers, load))
    p99 = result.estimate_us("p99", 0.99)
    assert covers(p99.value, p99.half_width, theory.mmk_quantile(0.99, 25, workers, load))


# Service distribution and its second moment over the square of its mean.
GENERAL = [
    ("const:25us", 1.0),
    ("bimodal:0.9:25us:250us", (0.9 * 25**2 + 0.1 * 250**2) / 47.5**2),
    ("weibull:0.7:25us", math.gamma(1 + 2 / 0.7) / math.gamma(1 + 1 / 0.7) ** 2),
    ("lognormal:0.8:25us", math.exp(0.8**2)),
]


@pytest.mark.parametrize(("service", "ratio"), GENERAL)
def test_mg1_mean_is_pollaczek_khinchines(service: str, ratio: float) -> None:
    model = queue_model(service, (1,))
    mean_us = model.mean_ns * US
    result = simulate_point(model, "baseline", 0.6, 600_000)
    found = result.estimate_us("mean", 0.99)
    truth = theory.mg1_mean(mean_us, ratio * mean_us**2, 0.6)
    assert covers(found.value, found.half_width, truth)


@pytest.mark.parametrize("scheme", ["baseline", "c-clone", "netclone", "netclone+reserve"])
def test_littles_law(scheme: str) -> None:
    """Requests in the system = rate x mean time, counted between the switch's two passes."""
    result = simulate_point(queue_model("exp:25us", (4,) * 4, link_ns=1000.0), scheme, 0.4)
    rate = result.count("sent") / result.area("window_ns")
    links_ns = 2 * result.point.model.link_ns
    expected = rate * (result.latency.mean_ns - links_ns)
    assert result.mean_level("in_system_area") == pytest.approx(expected, rel=0.01)


def test_busy_workers_are_the_offered_work() -> None:
    result = simulate_point(queue_model("exp:25us", (15,) * 6), "baseline", 0.5)
    assert result.utilisation == pytest.approx(0.5, rel=0.01)
    cloned = simulate_point(queue_model("exp:25us", (15,) * 6), "c-clone", 0.3)
    assert cloned.utilisation == pytest.approx(0.6, rel=0.01)


def test_two_copies_take_the_minimum_of_two_exponentials() -> None:
    """So many workers that nobody waits: mean 1/2, the 99th percentile halved."""
    result = simulate_point(queue_model("exp:25us", (64,) * 4), "c-clone", 0.05)
    mean, p99 = result.estimate_us("mean", 0.99), result.estimate_us("p99", 0.99)
    assert covers(mean.value, mean.half_width, 12.5)
    assert covers(p99.value, p99.half_width, 12.5 * math.log(100))


def test_copies_to_many_servers_meet_the_independent_queues() -> None:
    load = 0.3
    result = simulate_point(queue_model("exp:25us", (1,) * 100), "c-clone", load, 400_000)
    assert result.latency.mean_ns * US == pytest.approx(
        theory.exponential_mean(25, 2, load), rel=0.02
    )


def test_md1_formula_integrates_to_its_mean() -> None:
    times = np.linspace(0, 16, 20_001)
    for load in (0.2, 0.4, 0.6):
        wait = np.trapezoid(theory.md1_tail(times, load), times)
        assert 1 + wait == pytest.approx(theory.mg1_mean(1, 1, load), rel=1e-4)


def test_thresholds_that_are_known() -> None:
    def exponential(copies: int) -> float | None:
        return theory.threshold(
            lambda load: theory.exponential_mean(1, 1, load),
            lambda load: theory.exponential_mean(1, copies, load),
            copies,
        )

    assert exponential(2) == pytest.approx(1 / 3, abs=1e-6)
    assert exponential(3) == pytest.approx(1 / 4, abs=1e-6)
    deterministic = theory.threshold(
        lambda load: theory.deterministic_mean(1, 1, load),
        lambda load: theory.deterministic_mean(1, 2, load),
        2,
    )
    assert deterministic == pytest.approx(0.272, abs=0.001)
