# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many requests a second this machine carries through the rack."""

from __future__ import annotations

from loadgen.clients import ClientPlan, Stop
from loadgen.schemes import find_scheme
from loadgen.workload import parse_workload
from netclone_host.rack.plan import Plan
from netclone_host.rack.scale import Calibration
from netclone_host.rack.sweep import Traffic

# Short: the clients send as fast as they can, which leaves nothing for anybody else.
DURATION_S = 0.4
WARMUP_S = 0.1
# Services so short that packets alone are measured.
SERVICE = "const:1us"


def calibrate(plan: Plan, seed: int) -> Calibration:
    """Saturate the rack for a moment; answers in the window are what it carries."""
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
        summary = traffic.run(clients, Stop())
    return Calibration(summary.window_answers / DURATION_S)
