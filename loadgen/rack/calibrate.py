# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many requests a second this machine carries, through the rack or to stores in it."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Callable
from dataclasses import dataclass, replace

from loadgen.rack.emulated import EmulatedServers
from loadgen.rack.scale import Calibration, carried
from loadgen.rack.sweep import Servers
from loadgen.traffic.client_summary import ClientSummary
from loadgen.workload.schemes import find_scheme
from loadgen.workload.services import parse_workload
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan

# Services so short that packets alone are measured.
SERVICE = "const:1us"

Trial = Callable[[float], ClientSummary]
"""Runs the clients at a rate."""


def _saturated(trial: Trial) -> float:
    return trial(math.inf).achieved_rps


@dataclass(frozen=True)
class Doubling:
    """Tries rates, each twice the one before, until the servers fall behind."""

    first_rps: float
    last_rps: float
    behind: Callable[[ClientSummary, float], bool]
    takes_best: bool
    """The most answers a second of any trial count; else the last rate that was kept up with."""

    def __call__(self, trial: Trial) -> float:
        """The rate that was found."""
        rate_rps, best_rps = self.first_rps, 0.0
        while True:
            summary = trial(rate_rps)
            best_rps = max(best_rps, summary.achieved_rps)
            if self.behind(summary, rate_rps) or rate_rps >= self.last_rps:
                return best_rps if self.takes_best else rate_rps / 2
            rate_rps *= 2


@dataclass(frozen=True)
class Method:
    """How the rate is found, and the times of a trial."""

    find: Callable[[Trial], float]
    duration_s: float
    quiet_s: float
    drain_s: float
    warmup_s: float = 0.1


def _missing_or_late(summary: ClientSummary, _: float) -> bool:
    late = summary.latency.count == 0 or summary.latency.quantile_ns(0.5) > 20e6
    return late or summary.answered < 0.98 * summary.sent


def _answers_too_few(summary: ClientSummary, rate_rps: float) -> bool:
    return summary.achieved_rps < 0.9 * rate_rps


# Short: the clients send as fast as they can, which leaves nothing for anybody else.
SATURATED = Method(_saturated, duration_s=0.4, quiet_s=0.2, drain_s=2.0)
# simple_switch under more than it can do drops nearly all, and is a process of its own.
SIMPLE_SWITCH = Method(
    Doubling(250.0, 16_000.0, _missing_or_late, takes_best=False),
    duration_s=0.4,
    quiet_s=0.2,
    drain_s=2.0,
)
STORES = Method(
    Doubling(500.0, math.inf, _answers_too_few, takes_best=True),
    duration_s=0.5,
    quiet_s=0.5,
    drain_s=30.0,
)


def calibrate(servers: Servers, method: Method, seed: int) -> Calibration:
    """The rate that the servers answer with baseline, and what a request costs."""
    baseline, responses = find_scheme("baseline"), 0

    with servers.answering(baseline, seed, method.drain_s) as there:

        def trial(rate_rps: float) -> ClientSummary:
            nonlocal responses
            saturate = math.isinf(rate_rps)
            plan = servers.client_plan(
                baseline, 1.0 if saturate else rate_rps, method.duration_s, method.warmup_s
            )
            summary = there.run(
                replace(
                    plan,
                    seed=seed,
                    quiet_s=method.quiet_s,
                    drain_s=method.drain_s,
                    saturate=saturate,
                )
            )
            responses += summary.responses
            return summary

        before_s = _processor_s()
        rate_rps = method.find(trial)
        cost_s = (_processor_s() - before_s) / max(1, responses)
    return Calibration(rate_rps, cost_s)


def calibrate_rack(plan: Plan, seed: int) -> Calibration:
    """What comes through client, switch and server."""
    servers = EmulatedServers(plan, parse_workload(SERVICE))
    if Journal(plan.name).has_bmv2:
        return calibrate(servers, SIMPLE_SWITCH, seed)
    seen = calibrate(servers, SATURATED, seed)
    processors = len(os.sched_getaffinity(0))
    return Calibration(carried(seen.requests_per_s, seen.cost_s, processors), seen.cost_s)


def _processor_s() -> float:
    """Processor time of all threads; on most kernels it includes soft interrupts that they run."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
