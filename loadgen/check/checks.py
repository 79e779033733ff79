# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`netclone-loadgen check`: does the generator do on this machine what it claims?

Each check measures, and compares with a target:

* every distribution's samples against its formula, by the Kolmogorov-Smirnov statistic;
* the schedule of a Poisson stream, over so many requests that chance is out of the question:
  rate, coefficient of variation of the gaps, Kolmogorov-Smirnov;
* the rate at which requests really left, constant and Poisson, within 1 %;
* the gaps between them: the coefficient of variation within 2 % of 1 for Poisson, by the client's
  clock when they left and by the kernel's when they arrived at the other end;
* the emulated services, with virtual and with spinning workers, within 2 % of their mean.

What was really sent also tells of the machine: see loadgen/check/deviation.py.
"""

from __future__ import annotations

import functools
import math
import socket
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from loadgen.check.deviation import Check, disturbed, settle
from loadgen.machine.awake import processors_awake
from loadgen.native.distribution import native_distribution, sample_ns
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.client_summary import ClientSummary
from loadgen.traffic.clients import run_clients, schedule_gaps
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.traffic.worker_threads import SpinServer
from loadgen.workload.arrivals import CONSTANT, POISSON, Arrivals
from loadgen.workload.distributions import Distribution, FloatArray, Kind, parse_distribution
from loadgen.workload.schemes import find_scheme
from loadgen.workload.services import Workload

RATE_TOLERANCE = 0.01
CV_TOLERANCE = 0.02
SERVICE_TOLERANCE = 0.02
KS_SAMPLES = 200_000
SCHEDULE_REQUESTS = 4_000_000
"""Mean and coefficient of variation of so many exponential gaps are off by 0.05 % (one standard
deviation)."""
KS_FACTOR = 2.5
"""Exceeded by chance once in 130,000 tests (Kolmogorov's distribution); a run makes ten or so."""

TRACE = Distribution("trace:.. of 9 durations", Kind.TRACE, (), np.arange(7e3, 70e3, 7e3))
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
    dists = [*(parse_distribution(text) for text in DISTRIBUTIONS), TRACE]
    for stream, dist in enumerate(dists):
        samples = sample_ns(native_distribution(dist), KS_SAMPLES, seed, stream)
        values, counts = np.unique(samples, return_counts=True)
        distance = ks_distance(values, counts.astype(np.float64), dist)
        yield Check(f"KS distance of {dist.text}", distance, 0.0, limit, "")


def _loopback() -> Endpoint:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return Endpoint("127.0.0.1", sock.getsockname()[1])


def _run(
    arrivals: Arrivals, rate_rps: float, duration_s: float, seed: int
) -> tuple[ClientSummary, float]:
    """(what the client counted, coefficient of variation of the gaps on arrival)."""
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
    servers = VirtualServers([VirtualServer(at, 0)], instant)
    with servers:
        summary = run_clients(plan, [Endpoint("127.0.0.1", 0)], [at])
    return summary, servers.arrival_gap.cv


def _rate(name: str, summary: ClientSummary, target_rps: float) -> Check:
    check = Check(
        name, 1e9 / summary.sent_gap.mean_ns, target_rps, RATE_TOLERANCE * target_rps, "/s"
    )
    return disturbed(check, 1e9 / summary.unheld_gap.mean_ns, summary.stalls, "sends")


def check_constant(rate_rps: float, duration_s: float, seed: int) -> list[Check]:
    """Requests that left a second, at constant gaps."""
    summary, _ = _run(CONSTANT, rate_rps, duration_s, seed)
    return [_rate(f"rate sent, constant {rate_rps:g}/s", summary, rate_rps)]


def check_schedule(rate_rps: float, seed: int) -> Iterator[Check]:
    """What the generator alone decides: when the requests of a Poisson stream are due."""
    plan = ClientPlan(find_scheme("baseline"), rate_rps, 1.0, seed=seed)
    gap = schedule_gaps(plan, SCHEDULE_REQUESTS)
    yield Check(
        f"rate scheduled, Poisson {rate_rps:g}/s", 1e9 / gap.mean_ns, rate_rps,
        RATE_TOLERANCE * rate_rps, "/s",
    )  # fmt: skip
    yield Check(f"CV of the gaps scheduled at {rate_rps:g}/s", gap.cv, 1.0, CV_TOLERANCE, "")
    law = Distribution("gap", POISSON.kind, (1e9 / rate_rps,))
    values, counts = gap.buckets()
    # Gaps are kept in whole ns: of many per ns the steps are far apart.
    limit = KS_FACTOR / math.sqrt(gap.count) + 1e-3 + rate_rps * 1e-9
    distance = ks_distance(values + 0.5, counts.astype(np.float64), law)
    yield Check(f"KS distance of the gaps scheduled at {rate_rps:g}/s", distance, 0.0, limit, "")


def check_poisson(rate_rps: float, requests: int, seed: int) -> list[Check]:
    """Rate and gaps of a Poisson stream as it really left.

    The rate is held against that of the run's own schedule, which is off the nominal one by
    chance (0.4 % at 50,000 requests); `check_schedule` is about that.
    """
    summary, arrival_cv = _run(POISSON, rate_rps, requests / rate_rps, seed)
    scheduled_rps = 1e9 / summary.sched_gap.mean_ns
    cv = summary.sent_gap.cv
    added = cv**2 - summary.unheld_gap.cv**2
    sent = Check(f"CV of the gaps sent at {rate_rps:g}/s", cv, 1.0, CV_TOLERANCE, "")
    arrived = Check(
        f"CV of the gaps on arrival at {rate_rps:g}/s", arrival_cv, 1.0, CV_TOLERANCE, ""
    )
    return [
        _rate(f"rate sent, Poisson {rate_rps:g}/s", summary, scheduled_rps),
        disturbed(sent, summary.unheld_gap.cv, summary.stalls, "sends"),
        disturbed(
            arrived, math.sqrt(max(0.0, arrival_cv**2 - added)), summary.stalls, "sends"
        ),
    ]  # fmt: skip


def _service_load(at: Endpoint, rate_rps: float, duration_s: float, seed: int) -> None:
    plan = ClientPlan(
        find_scheme("baseline"), rate_rps, duration_s, arrivals=CONSTANT, seed=seed, quiet_s=0.3
    )
    run_clients(plan, [Endpoint("127.0.0.1", 0)], [at])


def _service(kind: str, took_ns: float, mean_ns: float) -> Check:
    return Check(
        f"{kind} service of {mean_ns * 1e-3:g} us", took_ns * 1e-3, mean_ns * 1e-3,
        SERVICE_TOLERANCE * mean_ns * 1e-3, "us",
    )  # fmt: skip


def check_virtual_service(mean_ns: float, seed: int) -> list[Check]:
    """From the beginning of a virtual service to its response."""
    at = _loopback()
    workload = Workload(parse_distribution(f"const:{mean_ns}ns"))
    servers = VirtualServers([VirtualServer(at, 0)], workload, seed=seed)
    with servers:
        _service_load(at, 500, 2.0, seed)
    over, stalls = servers.overrun, servers.stalls
    check = _service("virtual", servers.service.mean_ns + over.mean_ns, mean_ns)
    unheld_ns = (over.sum - stalls.held_ns) / max(1, over.count - stalls.held)
    return [disturbed(check, (servers.service.mean_ns + unheld_ns) * 1e-3, stalls, "responses")]


def check_spinning_service(mean_ns: float, seed: int) -> list[Check]:
    """A spinning worker, by the clock around each service."""
    at = _loopback()
    workload = Workload(parse_distribution(f"const:{mean_ns}ns"))
    server = SpinServer(VirtualServer(at, 0, workers=1), workload, seed=seed)
    with server:
        _service_load(at, 0.2e9 / mean_ns, 1.0, seed)
    seen, stalls = server.seen, server.stalls
    check = _service("spinning", seen.mean_ns, mean_ns)
    undisturbed_ns = (seen.sum - stalls.held_ns) / seen.count if seen.count else math.nan
    return [disturbed(check, undisturbed_ns * 1e-3, stalls, "services")]


def all_checks(rate_rps: float, requests: int, seed: int) -> Iterator[Check]:
    """Every check, in the order of the module's docstring; takes about 20 s, and more when the
    machine disturbs it."""
    yield from check_distributions(seed)
    yield from check_schedule(rate_rps, seed)
    measured: Sequence[Callable[[], list[Check]]] = (
        functools.partial(check_constant, rate_rps / 10, 2.0, seed),
        functools.partial(check_constant, rate_rps, 2.0, seed),
        functools.partial(check_poisson, rate_rps, requests, seed),
        functools.partial(check_virtual_service, 5e6, seed),
        functools.partial(check_spinning_service, 25e3, seed),
    )
    with processors_awake():
        for measure in measured:
            yield from settle(measure)
