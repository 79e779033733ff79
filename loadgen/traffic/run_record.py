# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From the sums of a run to its record: times divided back by the time scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.client_summary import ClientSummary
from loadgen.workload.percentiles import with_latency
from loadgen.workload.records import RunRecord
from loadgen.workload.services import Workload
from netclone_host.errors import NetcloneError


class WrongValueError(NetcloneError):
    """A store returned something that was never loaded."""

    exit_status = 4


@dataclass(frozen=True)
class Setting:
    """What the records of a sweep have in common; the fields are those of `RunRecord`."""

    source: str
    service: str
    jitter: str = "none"
    app: str = "synthetic"
    time_scale: float = 1.0
    servers: int = 0
    workers: int = 0
    clients: int = 1
    xdp_mode: str = "none"


def emulated(workload: Workload, source: str, **more: Any) -> Setting:
    """The setting of servers that take the times of `workload`."""
    return Setting(source, workload.service.text, str(workload.jitter), **more)


def make_record(
    plan: ClientPlan,
    summary: ClientSummary,
    setting: Setting,
    *,
    load: float = math.nan,
    repeat: int = 0,
) -> RunRecord:
    """The record of one run. Counters of the switch and the servers are the caller's to add.

    Times are those of the run divided by the time scale, rates multiplied by it; `duration_s`
    and the limits of lateness stay real. Raises `WrongValueError`.
    """
    if summary.wrong_values:
        raise WrongValueError(
            f"{summary.wrong_values} of {summary.answered} answers held a value that was "
            "never loaded",
            "the store or the path to it corrupts data; nothing was recorded",
        )
    record = RunRecord(
        **vars(setting),
        scheme=plan.scheme.name,
        load=load,
        repeat=repeat,
        offered_rps=summary.offered_rps * setting.time_scale,
        achieved_rps=summary.achieved_rps * setting.time_scale,
        sent=summary.sent,
        answered=summary.answered,
        unanswered=summary.unanswered,
        redundant=summary.redundant,
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
    if summary.store_errors:
        record.add_note(f"{summary.store_errors} store errors")
        record.partial = True
    lost = summary.unanswered + summary.unsent
    return with_latency(record, summary.latency, setting.time_scale, lost)
