# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`netclone-loadgen check`: does the generator do on this machine what it claims?

Each check measures, and compares with a target:

* every distribution's samples against its formula, by the Kolmogorov-Smirnov statistic;
* the rate at which requests really left, constant and Poisson, within 1 %;
* the gaps between them: the coefficient of variation within 2 % of 1 for Poisson;
* the emulated services, with virtual and with spinning workers, within 2 % of their mean.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loadgen.arrivals import CONSTANT, POISSON, Arrivals
from loadgen.clients import ClientPlan, ClientSummary, run_clients
from loadgen.distributions import Distribution, FloatArray, parse_distribution
from loadgen.endpoints import Endpoint
from loadgen.native import NativeHist, native_distribution, sample_ns
from loadgen.schemes import find_scheme
from loadgen.servers import VirtualServer, VirtualServers
from loadgen.spin import SpinServer
from loadgen.workload import Workload

RATE_TOLERANCE = 0.01
CV_TOLERANCE = 0.02
SERVICE_TOLERANCE = 0.02
KS_SAMPLES = 200_000
KS_FACTOR = 1.95
"""Passed by chance with probability 0.999 (Kolmogorov's distribution)."""

DISTRIBUTIONS = (
    "const:25us",
    "exp:25us",
    "bimodal:0.9:25us:250us",
    "trimodal:0.9:0.09:25us:100us:1ms",
    "lognormal:1.5:25us",
    "pareto:2.1:25us",
    "weibull:0.5:25us",
    "twopoint:0.01:15:25us",
)


@dataclass(frozen=True)
class Check:
    """One measured value beside its target."""

    name: str
    value: float
    target: float
    tolerance: float
    """Largest allowed |value - target|, absolute."""
    unit: str

    @property
    def passed(self) -> bool:
        """Within the tolerance."""
        return abs(self.value - self.target) <= self.tolerance


def ks_distance(values: FloatArray, counts: FloatArray, dist: Distribution) -> float:
    """Largest distance between the steps of the samples (`values` rising, each `counts` times)
    and the distribution function, looked at on both sides of each step."""
    upto = np.cumsum(counts) / counts.sum()
    before = np.concatenate(([0.0], upto[:-1]))
    at = np.abs(dist.cdf(values) - upto)
    below = np.abs(dist.cdf(values * (1 - 1e-5)) - before)
    return float(max(at.max(), below.max()))


def check_distributions(seed: int) -> Iterator[Check]:
    """A KS test for each kind of distribution."""
    limit = KS_FACTOR / math.sqrt(KS_SAMPLES) + 1e-4
    for text in DISTRIBUTIONS:
        dist = parse_distribution(text)
        samples = sample_ns(native_distribution(dist), KS_SAMPLES, seed)
        values, counts = np.unique(samples, return_counts=True)
        distance = ks_distance(values, counts.astype(np.float64), dist)
        yield Check(f"KS distance of {text}", distance, 0.0, limit, "")


def _loopback() -> Endpoint:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return Endpoint("127.0.0.1", sock.getsockname()[1])


def _run(arrivals: Arrivals, rate_rps: float, duration_s: float, seed: int) -> ClientSummary:
    at = _loopback()
    plan = ClientPlan(
        find_scheme("baseline"),
        rate_rps,
        duration_s,
        arrivals=arrivals,
        seed=seed,
        quiet_s=0.2,
        keen=True,
    )
    instant = Workload(parse_distribution("const:1ns"))
    with VirtualServers([VirtualServer(at, 0)], instant):
        return run_clients(plan, [Endpoint("127.0.0.1", 0)], [at])


def _moments(hist: NativeHist) -> tuple[float, float]:
    """(mean in ns, coefficient of variation)."""
    mean = hist.mean_ns
    return mean, math.sqrt(max(0.0, hist.sum_sq / hist.count - mean**2)) / mean


def check_constant(rate_rps: float, duration_s: float, seed: int) -> Iterator[Check]:
    """Requests that left a second, at constant gaps."""
    mean, _ = _moments(_run(CONSTANT, rate_rps, duration_s, seed).sent_gap)
    yield Check(
        f"rate sent, constant {rate_rps:g}/s", 1e9 / mean, rate_rps, RATE_TOLERANCE * rate_rps, "/s"
    )


def check_poisson(rate_rps: float, requests: int, seed: int) -> Iterator[Check]:
    """Rate and gaps of a Poisson stream as it really left."""
    summary = _run(POISSON, rate_rps, requests / rate_rps, seed)
    mean, cv = _moments(summary.sent_gap)
    yield Check(
        f"rate sent, Poisson {rate_rps:g}/s", 1e9 / mean, rate_rps, RATE_TOLERANCE * rate_rps, "/s"
    )
    yield Check(f"CV of the gaps sent at {rate_rps:g}/s", cv, 1.0, CV_TOLERANCE, "")
    gaps = Distribution("gap", POISSON.kind, (1e9 / rate_rps,))
    values, counts = summary.sched_gap.buckets()
    limit = KS_FACTOR / math.sqrt(summary.sched_gap.count) + 1e-3
    distance = ks_distance(values + 0.5, counts.astype(np.float64), gaps)
    yield Check(f"KS distance of the gaps scheduled at {rate_rps:g}/s", distance, 0.0, limit, "")


def _service_load(at: Endpoint, rate_rps: float, duration_s: float, seed: int) -> None:
    plan = ClientPlan(
        find_scheme("baseline"), rate_rps, duration_s, arrivals=CONSTANT, seed=seed, quiet_s=0.3
    )
    run_clients(plan, [Endpoint("127.0.0.1", 0)], [at])


def check_virtual_service(mean_ns: float, seed: int) -> Iterator[Check]:
    """From the beginning of a virtual service to its response."""
    at = _loopback()
    workload = Workload(parse_distribution(f"const:{mean_ns}ns"))
    servers = VirtualServers([VirtualServer(at, 0)], workload, seed=seed)
    with servers:
        _service_load(at, 500, 2.0, seed)
    took = servers.service.mean_ns + servers.overrun.mean_ns
    yield Check(
        f"virtual service of {mean_ns * 1e-3:g} us", took * 1e-3, mean_ns * 1e-3,
        SERVICE_TOLERANCE * mean_ns * 1e-3, "us",
    )  # fmt: skip


def check_spinning_service(mean_ns: float, seed: int) -> Iterator[Check]:
    """A spinning worker, by the clock around each service. The median: what else the machine
    runs prolongs some of them, and is not the worker's doing."""
    at = _loopback()
    workload = Workload(parse_distribution(f"const:{mean_ns}ns"))
    server = SpinServer(VirtualServer(at, 0, workers=1), workload, seed=seed)
    with server:
        _service_load(at, 0.2e9 / mean_ns, 1.0, seed)
    took = server.seen.quantile_ns(0.5)
    yield Check(
        f"spinning service of {mean_ns * 1e-3:g} us", took * 1e-3, mean_ns * 1e-3,
        SERVICE_TOLERANCE * mean_ns * 1e-3, "us",
    )  # fmt: skip


def all_checks(rate_rps: float, requests: int, seed: int) -> Iterator[Check]:
    """Every check, in the order of the module's docstring; takes about 20 s."""
    yield from check_distributions(seed)
    yield from check_constant(rate_rps / 10, 2.0, seed)
    yield from check_constant(rate_rps, 2.0, seed)
    yield from check_poisson(rate_rps, requests, seed)
    yield from check_virtual_service(5e6, seed)
    yield from check_spinning_service(25e3, seed)
