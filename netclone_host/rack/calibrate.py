# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many requests a second this machine carries through the rack."""

from __future__ import annotations

import os
import resource

from loadgen.clients import ClientPlan, Stop
from loadgen.schemes import find_scheme
from loadgen.workload import parse_workload
from netclone_host.rack.plan import Plan
from netclone_host.rack.scale import Calibration, carried
from netclone_host.rack.sweep import Traffic

# Short: the clients send as fast as they can, which leaves nothing for anybody else.
DURATION_S = 0.4
WARMUP_S = 0.1
# Services so short that packets alone are measured.
SERVICE = "const:1us"


def calibrate(plan: Plan, seed: int) -> Calibration:
    """Saturate the rack for a moment, and see what came through and what it cost."""
    clients = ClientPlan(
        scheme=find_scheme("baseline"),
        rate_rps=1.0,
        duration_s=DURATION_S,
        warmup_s=WARMUP_S,
        seed=seed,
        quiet_s=0.2,
        drain_s=2.0,
        saturate=True,
    )
    with Traffic(plan, parse_workload(SERVICE), 1.0, seed) as traffic:
        before_s = _processor_s()
        summary = traffic.run(clients, Stop())
        spent_s = _processor_s() - before_s
    seen_rps = summary.window_answers / DURATION_S
    cost_s = spent_s / max(1, summary.responses)
    return Calibration(carried(seen_rps, cost_s, len(os.sched_getaffinity(0))), cost_s)


def _processor_s() -> float:
    """Of all threads; soft interrupts that they run are theirs on most kernels."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
