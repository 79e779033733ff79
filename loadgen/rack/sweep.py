# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sweep: schemes at loads, one record per run, whatever kind of servers answers.

Kinds of servers: emulated ones in the rack (rack/emulated.py), real stores in the rack
(rack/stores/servers.py), servers that are given by address (rack/given.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from loadgen.machine.priority import prefer_this_thread
from loadgen.rack.answering import Answering
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.run_record import Setting, make_record
from loadgen.workload.records import RunRecord
from loadgen.workload.schemes import Scheme
from netclone_host.rack.counters import Snapshot, difference

# Time to open the clients' sockets and start their threads.
START_DELAY_NS = 300_000_000
SEEDS_PER_SWEEP = 1_000_003


class Servers(Protocol):
    """What a sweep measures."""

    @property
    def setting(self) -> Setting:
        """What all records of the sweep have in common."""

    def rate_rps(self, load: float) -> float:
        """The requests per second that a load stands for, in real seconds."""

    def client_plan(
        self, scheme: Scheme, rate_rps: float, duration_s: float, warmup_s: float
    ) -> ClientPlan:
        """A run's clients: what they ask for, when they are late, how long they wait."""

    def answering(
        self, scheme: Scheme, seed: int, timeout_s: float
    ) -> AbstractContextManager[Answering]:
        """Within the block the servers answer by the rules of `scheme`. `timeout_s`: a
        coordinator gives up a request after it."""


@dataclass(frozen=True)
class SweepSettings:
    """What is run, in real seconds."""

    schemes: tuple[Scheme, ...]
    loads: tuple[float, ...] = ()
    """Shares of what the servers can do; or:"""
    rates_rps: tuple[float, ...] = ()
    duration_s: float = 5.0
    warmup_s: float = 1.0
    seed: int = 1
    repeats: int = 1

    @property
    def n_runs(self) -> int:
        """Runs of the whole sweep."""
        return self.repeats * len(self.rates_rps or self.loads) * len(self.schemes)


@dataclass(frozen=True)
class Run:
    """One run of a sweep; `load` is NaN where rates are given."""

    scheme: Scheme
    load: float
    rate_rps: float
    repeat: int
    seed: int


def runs(settings: SweepSettings, rate_of: Callable[[float], float]) -> Iterator[Run]:
    """All schemes at the first load, then at the next: what is compared is close in time."""
    points = [(math.nan, rate) for rate in settings.rates_rps]
    points = points or [(load, rate_of(load)) for load in settings.loads]
    seed = settings.seed * SEEDS_PER_SWEEP
    for repeat in range(settings.repeats):
        for load, rate_rps in points:
            for scheme in settings.schemes:
                yield Run(scheme, load, rate_rps, repeat, seed)
                seed += 1


def sweep(
    servers: Servers, settings: SweepSettings, on_start: Callable[[Run], None] = lambda _: None
) -> Iterator[RunRecord]:
    """Runs everything; yields each record as soon as it is there."""
    for run in runs(settings, servers.rate_rps):
        on_start(run)
        plan = servers.client_plan(run.scheme, run.rate_rps, settings.duration_s, settings.warmup_s)
        plan = replace(plan, seed=run.seed)
        with servers.answering(run.scheme, run.seed, plan.drain_s) as there:
            record = _measure(there, plan, servers.setting, run)
        record.seed = settings.seed
        yield record


def _measure(there: Answering, plan: ClientPlan, setting: Setting, run: Run) -> RunRecord:
    before = there.snapshot()
    plan = replace(plan, start_ns=time.monotonic_ns() + START_DELAY_NS)
    with ThreadPoolExecutor(1) as reader:
        # What is sent before the window opens is warm-up, in the counters too.
        window_ns = plan.start_ns + int(plan.warmup_s * 1e9)
        at_window = reader.submit(_snapshot_at, there, window_ns)
        summary = there.run(plan)
    idle = there.wait_idle(plan.drain_s)
    after = there.snapshot()
    record = make_record(plan, summary, setting, load=run.load, repeat=run.repeat)
    measured, counters = difference(after, at_window.result()), run.scheme.counters
    record.cloned = there.total(measured, counters.cloned)
    record.clones_dropped = there.total(measured, counters.clones_dropped)
    record.filtered = there.total(measured, counters.filtered)
    record.counters = difference(after, before)
    if not idle:
        record.add_note("servers were not idle at the end")
    return record


def _snapshot_at(there: Answering, at_ns: int) -> Snapshot:
    prefer_this_thread(sleeps=True)
    time.sleep(max(0.0, (at_ns - time.monotonic_ns()) * 1e-9))
    return there.snapshot()
