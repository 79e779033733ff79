# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many requests a second this machine carries through the rack."""

from __future__ import annotations

import os
import resource

from loadgen.rack.scale import Calibration, carried
from loadgen.rack.sweep import Traffic
from loadgen.traffic.clients import ClientPlan, Stop
from loadgen.workload.schemes import find_scheme
from loadgen.workload.services import parse_workload
from netclone_host.rack import bmv2_live
from netclone_host.rack.plan import Plan

# Short: the clients send as fast as they can, which leaves nothing for anybody else.
DURATION_S = 0.4
WARMUP_S = 0.1
# Services so short that packets alone are measured.
SERVICE = "const:1us"
# Of a switch in P4: rates that are tried, and what shows that one is too high.
FIRST_STEP_RPS, LAST_STEP_RPS = 250.0, 16_000.0
ENOUGH, LATE_NS = 0.98, 20e6


def calibrate(plan: Plan, seed: int) -> Calibration:
    """Saturate the rack for a moment, and see what came through and what it cost."""
    in_p4 = bmv2_live.is_switch_of(plan)
    with Traffic(plan, parse_workload(SERVICE), 1.0, seed) as traffic:
        return _step_by_step(traffic, seed) if in_p4 else _saturated(traffic, seed)


def _saturated(traffic: Traffic, seed: int) -> Calibration:
    before_s = _processor_s()
    summary = traffic.run(_clients(seed, saturate=True), Stop())
    spent_s = _processor_s() - before_s
    seen_rps = summary.window_answers / DURATION_S
    cost_s = spent_s / max(1, summary.responses)
    return Calibration(carried(seen_rps, cost_s, len(os.sched_getaffinity(0))), cost_s)


def _step_by_step(traffic: Traffic, seed: int) -> Calibration:
    """simple_switch under more than it can do drops nearly all, and is a process of its own;
    so the rate is doubled until responses are missing or come late."""
    rate_rps = FIRST_STEP_RPS
    before_s = _processor_s()
    responses = 0
    while True:
        summary = traffic.run(_clients(seed, rate_rps=rate_rps), Stop())
        responses += summary.responses
        late = summary.latency.count == 0 or summary.latency.quantile_ns(0.5) > LATE_NS
        if late or summary.answered < ENOUGH * summary.sent or rate_rps >= LAST_STEP_RPS:
            spent_s = _processor_s() - before_s
            return Calibration(rate_rps / 2, spent_s / max(1, responses))
        rate_rps *= 2


def _clients(seed: int, *, rate_rps: float = 1.0, saturate: bool = False) -> ClientPlan:
    return ClientPlan(
        scheme=find_scheme("baseline"),
        rate_rps=rate_rps,
        duration_s=DURATION_S,
        warmup_s=WARMUP_S,
        seed=seed,
        quiet_s=0.2,
        drain_s=2.0,
        saturate=saturate,
    )


def _processor_s() -> float:
    """Of all threads; soft interrupts that they run are theirs on most kernels."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
