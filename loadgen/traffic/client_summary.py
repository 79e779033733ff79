# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a run of the clients came to, summed over all streams."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from loadgen.native.histogram import Moments, NativeHist
from loadgen.native.stalls import Stalls

LATE_SHARE = 0.01
"""A run kept its schedule when no more than this share of its sends was late."""
CLOCK_STEP_NS = 1_000_000


@dataclass
class ClientSummary:
    """Sums over all streams; counts are of requests scheduled inside the measured window."""

    scheduled: int = 0
    sent: int = 0
    answered: int = 0
    redundant: int = 0
    copies_sent: int = 0
    responses: int = 0
    of_cloned: int = 0
    """First answers of all requests whose header says that the switch cloned the request."""
    window_answers: int = 0
    late_sends: int = 0
    max_late_ns: int = 0
    send_errors: int = 0
    stale: int = 0
    wrong_values: int = 0
    store_errors: int = 0
    rx_dropped: int = 0
    rx_invalid: int = 0
    all_sent: int = 0
    cpu_ns: int = 0
    """Processor time of the client threads until the end of the window."""
    io: str = "socket"
    clock_step_ns: int = 0
    duration_s: float = 0.0
    """Length of the measured window; in a partial run, as much of it as passed."""
    partial: bool = False
    notes: list[str] = field(default_factory=list)
    latency: NativeHist = field(default_factory=NativeHist)
    """Arrival of the first answer minus scheduled time, real ns."""
    late: NativeHist = field(default_factory=NativeHist)
    """Sent minus scheduled, real ns."""
    sent_gap: NativeHist = field(default_factory=NativeHist)
    sched_gap: NativeHist = field(default_factory=NativeHist)
    unheld_gap: Moments = field(default_factory=Moments)
    """`sent_gap` as it would be had every send that a stall held left when it was due."""
    stalls: Stalls = field(default_factory=Stalls)
    """Times over 0.1 ms for which the machine did not run a client that was to run; `held`
    counts the sends that were due then."""
    waited_ns: int = 0
    """For how long the clients waited for a processor that another program had."""

    @property
    def unanswered(self) -> int:
        """Requests sent and never answered."""
        return self.sent - self.answered

    @property
    def unsent(self) -> int:
        """Requests that were due and never left."""
        return self.scheduled - self.sent

    @property
    def kept_schedule(self) -> bool:
        """All was sent, at most `LATE_SHARE` of it late, and the clock was left alone."""
        return not self.unsent and self.late_sends <= LATE_SHARE * self.sent and not self.partial

    @property
    def achieved_rps(self) -> float:
        """First answers that arrived in the window, per second."""
        return self.window_answers / self.duration_s if self.duration_s else math.nan

    @property
    def offered_rps(self) -> float:
        """Requests that were due in the window, per second."""
        return self.scheduled / self.duration_s if self.duration_s else math.nan


def note_clock(total: ClientSummary, step_ns: int, *, kernel_timestamps: bool) -> None:
    """Notes a step of CLOCK_REALTIME. Only the kernel's timestamps are made with it: with them
    some latencies are wrong, and the run is partial."""
    if abs(step_ns) > CLOCK_STEP_NS:
        total.notes.append(f"the clock was stepped by {step_ns * 1e-6:.1f} ms")
        total.partial = total.partial or kernel_timestamps
