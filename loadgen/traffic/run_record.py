# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From the sums of a run to its record: times divided back by the time scale."""

from __future__ import annotations

import math

from loadgen.traffic.clients import ClientPlan, ClientSummary
from loadgen.workload.percentiles import with_latency
from loadgen.workload.records import RunRecord
from loadgen.workload.services import Workload


def make_record(
    plan: ClientPlan,
    summary: ClientSummary,
    workload: Workload,
    *,
    source: str,
    load: float = math.nan,
    time_scale: float = 1.0,
    clients: int = 1,
) -> RunRecord:
    """The record of one run. Counters of the switch and the servers are the caller's to add.

    Times are those of the run divided by `time_scale`, rates multiplied by it; `duration_s`
    and the limits of lateness stay real.
    """
    record = RunRecord(
        source=source,
        scheme=plan.scheme.name,
        service=workload.service.text,
        jitter=str(workload.jitter),
        load=load,
        offered_rps=summary.offered_rps * time_scale,
        achieved_rps=summary.achieved_rps * time_scale,
        sent=summary.sent,
        answered=summary.answered,
        unanswered=summary.unanswered,
        redundant=summary.redundant,
        time_scale=time_scale,
        clients=clients,
        duration_s=summary.duration_s,
        seed=plan.seed,
        io=summary.io,
        timestamps="kernel" if plan.kernel_timestamps and not plan.io.is_xdp else "user",
        arrivals=plan.arrivals.text,
        kept_schedule=summary.kept_schedule,
        late_sends=summary.late_sends,
        late_limit_us=plan.late_s * 1e6,
        max_late_us=summary.max_late_ns * 1e-3,
        unsent=summary.unsent,
        send_errors=summary.send_errors,
        link_drops=summary.rx_dropped,
        stale=summary.stale,
        partial=summary.partial,
        note="; ".join(summary.notes),
    )
    lost = summary.unanswered + summary.unsent
    return with_latency(record, summary.latency, time_scale, lost)
