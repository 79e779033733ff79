# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`rack run`: schemes at loads over a rack that is up, one record a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from loadgen.machine.priority import prefer_this_thread
from loadgen.native.stalls import Stalls
from loadgen.rack.scheme_setup import coordinator_of, switch_as
from loadgen.traffic.clients import ClientPlan, ClientSummary, Stop, run_clients
from loadgen.traffic.coordinator import Coordinator
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.probe import probe
from loadgen.traffic.run_record import make_record
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.records import RunRecord
from loadgen.workload.schemes import Scheme
from loadgen.workload.services import Workload
from netclone_host.kernel import named_netns
from netclone_host.rack.app_state import app_state_fds
from netclone_host.rack.counters import Counting, Snapshot, difference
from netclone_host.rack.plan import Node, Plan
from netclone_host.topology import DEFAULT_PORT

# Behind the end of a run a silence of this many mean services (jitter included) means that
# nothing more will come: e^-40 of the exponential service times are longer.
QUIET_SERVICES = 40.0
MIN_QUIET_S = 0.5
IDLE_POLL_S = 0.01
# Time to open the clients' sockets and start their threads.
START_DELAY_NS = 300_000_000


@dataclass(frozen=True)
class SweepSettings:
    """What is run. Times are real seconds; the service times are multiplied by `time_scale`."""

    schemes: tuple[Scheme, ...]
    loads: tuple[float, ...]
    workload: Workload
    duration_s: float
    warmup_s: float
    time_scale: float
    seed: int = 1
    repeats: int = 1

    @property
    def quiet_s(self) -> float:
        """Silence after which a run's open requests are given up."""
        slowest = max(1.0, self.workload.jitter.factor)
        mean_s = self.workload.service.mean_ns * 1e-9 * self.time_scale
        return max(MIN_QUIET_S, QUIET_SERVICES * slowest * mean_s)

    @property
    def drain_s(self) -> float:
        """Longest wait for the answers to an overloaded run's backlog."""
        return 4 * (self.warmup_s + self.duration_s) + self.quiet_s

    @property
    def n_runs(self) -> int:
        """Runs of the whole sweep."""
        return self.repeats * len(self.loads) * len(self.schemes)


@dataclass(frozen=True)
class Run:
    """One run of a sweep."""

    scheme: Scheme
    load: float
    repeat: int


def runs(settings: SweepSettings) -> Iterator[Run]:
    """All schemes at the first load, then at the next: what is compared is close in time."""
    for repeat in range(settings.repeats):
        for load in settings.loads:
            for scheme in settings.schemes:
                yield Run(scheme, load, repeat)


def endpoint(node: Node, port: int) -> Endpoint:
    """The node's UDP address, in its namespace."""
    return Endpoint(str(node.ip4 or node.ip6), port, named_netns.path_of(node.netns))


class Traffic:
    """The rack's virtual servers, answering inside the `with` block, and its clients."""

    def __init__(
        self,
        plan: Plan,
        workload: Workload,
        time_scale: float,
        seed: int,
        scheme: Scheme | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """`timeout_s`: after it a coordinator gives up a request."""
        port = plan.topology.switch.ports[0] if plan.topology.switch.ports else DEFAULT_PORT
        self.clients = [endpoint(node, 0) for node in plan.clients]
        self.servers = [endpoint(node, port) for node in plan.servers]
        self._undo = ExitStack()
        fds = self._undo.enter_context(app_state_fds(plan))
        self._virtual = VirtualServers(
            [
                VirtualServer(where, node.server_id, node.workers, app_state_fd=fd)
                for where, node, fd in zip(self.servers, plan.servers, fds, strict=True)
            ],
            workload,
            time_scale=time_scale,
            seed=seed,
        )
        self.targets = self.servers
        self.coordinator: Coordinator | None = None
        if scheme is not None and scheme.has_coordinator:
            # The coordinator has the last client's node to itself.
            self.clients = self.clients[:-1]
            self.coordinator = coordinator_of(plan, self.servers, port, timeout_s, seed)
            self.targets = [self.coordinator.endpoint]

    def __enter__(self) -> Traffic:
        with ExitStack() as undo:
            undo.push(self._undo.pop_all())
            undo.enter_context(self._virtual)
            if self.coordinator is not None:
                undo.enter_context(self.coordinator)
            for client in self.clients:
                probe(client, self.targets)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    @property
    def stalls(self) -> Stalls:
        """Time in which the servers' thread did not run although it was to."""
        return self._virtual.stalls

    def run(self, plan: ClientPlan, stop: Stop) -> ClientSummary:
        """Run the clients; blocks until the last answer is there or given up."""
        return run_clients(plan, self.clients, self.targets, stop)

    def snapshot(self, counting: Counting) -> Snapshot:
        """The programs' counters, and the coordinator's as `coordinator.<what>`."""
        counted = dict(counting.snapshot())
        if self.coordinator is not None:
            counted |= {
                f"coordinator.{name}": value
                for name, value in vars(self.coordinator.counts()).items()
                if isinstance(value, int) and value
            }
        return counted

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until no server has a request any more."""
        deadline = time.monotonic() + timeout_s
        while self._virtual.pending and time.monotonic() < deadline:
            time.sleep(IDLE_POLL_S)
        return not self._virtual.pending


def sweep(
    plan: Plan,
    settings: SweepSettings,
    xdp_mode: str,
    on_start: Callable[[Run], None] = lambda _: None,
) -> Iterator[RunRecord]:
    """Run everything; yields each record as soon as it is there."""
    with Counting(plan) as counting:
        for number, run in enumerate(runs(settings)):
            on_start(run)
            seed = settings.seed * 1_000_003 + number
            # Servers of its own for each run: every run draws its own service times.
            traffic = Traffic(
                plan, settings.workload, settings.time_scale, seed, run.scheme, settings.drain_s
            )
            with switch_as(plan, run.scheme), traffic:
                yield _measure(plan, traffic, counting, settings, run, seed, xdp_mode)


def client_plan(plan: Plan, settings: SweepSettings, run: Run, seed: int) -> ClientPlan:
    """Rate and times of a run, in real seconds."""
    n_workers = sum(node.workers for node in plan.servers)
    return ClientPlan(
        scheme=run.scheme,
        start_ns=time.monotonic_ns() + START_DELAY_NS,
        rate_rps=settings.workload.rate_rps(run.load, 1, n_workers, settings.time_scale),
        duration_s=settings.duration_s,
        warmup_s=settings.warmup_s,
        seed=seed,
        # Late by less than a tenth of the mean service is not late.
        late_s=max(100e-6, settings.workload.mean_ns * 1e-9 * settings.time_scale / 10),
        quiet_s=settings.quiet_s,
        drain_s=settings.drain_s,
    )


def _measure(
    plan: Plan,
    traffic: Traffic,
    counting: Counting,
    settings: SweepSettings,
    run: Run,
    seed: int,
    xdp_mode: str,
) -> RunRecord:
    stop = Stop()
    clients = client_plan(plan, settings, run, seed)
    before = traffic.snapshot(counting)
    with ThreadPoolExecutor(1) as reader:
        # What is sent before the window opens is warm-up, in the counters too.
        window_ns = clients.start_ns + int(settings.warmup_s * 1e9)
        at_window = reader.submit(_snapshot_at, traffic, counting, window_ns)
        summary = traffic.run(clients, stop)
    idle = traffic.wait_idle(settings.drain_s)
    after = traffic.snapshot(counting)
    record = _record(plan, settings, run, clients, summary)
    measured = difference(after, at_window.result())
    counters = run.scheme.counters
    record.cloned = _total(counting, measured, counters.cloned)
    record.clones_dropped = _total(counting, measured, counters.clones_dropped)
    record.filtered = _total(counting, measured, counters.filtered)
    record.counters = difference(after, before)
    record.xdp_mode = xdp_mode
    record.seed = settings.seed
    if not idle:
        record.note = "; ".join(filter(None, [record.note, "servers were not idle at the end"]))
    return record


def _total(counting: Counting, counted: Snapshot, name: str) -> int:
    if name.startswith("coordinator."):
        return counted.get(name, 0)
    role, hook, reason = name.split(".")
    return counting.total(counted, role, hook, reason)


def _snapshot_at(traffic: Traffic, counting: Counting, at_ns: int) -> Snapshot:
    prefer_this_thread(sleeps=True)
    time.sleep(max(0.0, (at_ns - time.monotonic_ns()) * 1e-9))
    return traffic.snapshot(counting)


def _record(
    plan: Plan, settings: SweepSettings, run: Run, clients: ClientPlan, summary: ClientSummary
) -> RunRecord:
    record = make_record(
        clients, summary, settings.workload, source="rack", load=run.load,
        time_scale=settings.time_scale, clients=len(plan.clients),
    )  # fmt: skip
    record.servers = len(plan.servers)
    record.workers = sum(node.workers for node in plan.servers)
    record.repeat = run.repeat
    return record
