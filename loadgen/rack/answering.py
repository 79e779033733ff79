# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Servers while they answer: where clients send, and what is counted on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadgen.native.stalls import Stalls
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.client_summary import ClientSummary
from loadgen.traffic.clients import run_clients
from loadgen.traffic.coordinator import Coordinator
from loadgen.traffic.endpoints import Endpoint
from netclone_host.rack.counters import Counting, Snapshot

IDLE_POLL_S = 0.01


@dataclass(frozen=True)
class Answering:
    """Clients, and the servers that answer them now."""

    clients: Sequence[Endpoint]
    targets: Sequence[Endpoint]
    """Whom the clients address: the servers, or their coordinator alone."""
    programs: Counting | None = None
    """Counters of the programs on the way, where they are ours to read."""
    coordinator: Coordinator | None = None
    pending: Callable[[], int] = lambda: 0
    """Requests that wait at the servers or are in service."""
    stalls: Callable[[], Stalls] = Stalls
    """Time in which the servers' thread was to run and did not."""

    def run(self, plan: ClientPlan) -> ClientSummary:
        """Runs the clients; returns when the last answer is there or given up."""
        return run_clients(plan, self.clients, self.targets)

    def snapshot(self) -> Snapshot:
        """The programs' counters, and the coordinator's as `coordinator.<count>`."""
        counted = {} if self.programs is None else dict(self.programs.snapshot())
        if self.coordinator is not None:
            counted |= {
                f"coordinator.{name}": value
                for name, value in vars(self.coordinator.counts()).items()
                if isinstance(value, int) and value
            }
        return counted

    def total(self, counted: Snapshot, counter: str) -> int:
        """One counter of a scheme (`workload.schemes.Counters`)."""
        if counter.startswith("coordinator."):
            return counted.get(counter, 0)
        role, hook, reason = counter.split(".")
        return 0 if self.programs is None else self.programs.total(counted, role, hook, reason)

    def wait_idle(self, timeout_s: float) -> bool:
        """Waits until no server holds a request any more."""
        deadline = time.monotonic() + timeout_s
        while self.pending() and time.monotonic() < deadline:
            time.sleep(IDLE_POLL_S)
        return not self.pending()
