# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Schemes at rates over a rack whose servers are real stores.

Stores take the time they take: nothing is stretched, and rates are real. Without rates
given, load 1 is the highest rate that the rack answers with baseline, found by doubling the
rate; on a machine with few cores that is the machine's limit, not the stores'.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from loadgen.machine.priority import prefer_this_thread
from loadgen.native.client_structs import Mix
from loadgen.rack.scheme_setup import coordinator_of, switch_as
from loadgen.rack.stores.loading import load_objects
from loadgen.rack.stores.process import StoreKind, StoreProcess, require_memory
from loadgen.rack.stores.server import StoreServer, make_mix
from loadgen.traffic.clients import ClientPlan, ClientSummary, run_clients
from loadgen.traffic.coordinator import Coordinator
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.probe import probe
from loadgen.traffic.run_record import make_record
from loadgen.traffic.virtual_servers import VirtualServer
from loadgen.workload.records import RunRecord
from loadgen.workload.schemes import Scheme, find_scheme
from loadgen.workload.services import parse_workload
from netclone_host.errors import NetcloneError
from netclone_host.kernel import named_netns
from netclone_host.rack.app_state import app_state_fds
from netclone_host.rack.counters import Counting, difference
from netclone_host.rack.plan import Plan
from netclone_host.topology import DEFAULT_PORT

CALIBRATION_RPS = 500.0
CALIBRATION_S = 0.5
CALIBRATION_SHARE = 0.9
START_DELAY_NS = 100_000_000


class WrongValueError(NetcloneError):
    """A store returned something that was never loaded."""

    exit_status = 4


@dataclass(frozen=True)
class StoreSweep:
    """What is run; times in real seconds."""

    kind: StoreKind
    schemes: tuple[Scheme, ...]
    loads: tuple[float, ...] = ()
    """Shares of the rate that the rack answers; or:"""
    rates_rps: tuple[float, ...] = ()
    duration_s: float = 5.0
    warmup_s: float = 1.0
    repeats: int = 1
    seed: int = 1
    objects: int = 1_000_000
    theta: float = 0.99
    scan: float = 0.01
    write: float = 0.0
    scan_count: int = 100

    def __post_init__(self) -> None:
        """`UserError` for what no client could ask."""
        self.mix()

    def mix(self) -> Mix:
        """Operations and keys of the clients."""
        return make_mix(self.objects, self.theta, self.scan, self.write, self.scan_count)

    @property
    def label(self) -> str:
        """As records give it, such as `redis 99% GET 1% SCAN`."""
        get = 1 - self.scan - self.write
        parts = [f"{get:.0%} GET", f"{self.scan:.0%} SCAN"]
        if self.write:
            parts.append(f"{self.write:.0%} SET")
        return " ".join([self.kind.name.lower(), *parts])


def _endpoint(plan: Plan, index: int) -> Endpoint:
    node = plan.servers[index]
    ports = plan.topology.switch.ports or (DEFAULT_PORT,)
    return Endpoint(str(node.ip4 or node.ip6), ports[0], named_netns.path_of(node.netns))


@contextmanager
def running_stores(
    plan: Plan, sweep: StoreSweep, progress: Callable[[str, int, int], None]
) -> Iterator[list[StoreProcess]]:
    """A store in each server's namespace, loaded; `progress(node, written, all)`.

    Raises `UserError`, for one where the stores would not fit into the free memory.
    """
    require_memory(sweep.objects, len(plan.servers))
    with ExitStack() as undo:
        stores = []
        for node in plan.servers:
            store = StoreProcess(sweep.kind, sweep.objects, named_netns.path_of(node.netns))
            undo.enter_context(store)

            def loaded(written: int, name: str = node.name) -> None:
                progress(name, written, sweep.objects)

            load_objects(store, sweep.objects, loaded)
            stores.append(store)
        yield stores


class StoreRack:
    """A rack whose servers answer from stores inside the `with` block."""

    def __init__(self, plan: Plan, sweep: StoreSweep, stores: Sequence[StoreProcess]) -> None:
        self._plan = plan
        self._sweep = sweep
        self.servers = [_endpoint(plan, i) for i in range(len(stores))]
        self.clients = [
            Endpoint(str(node.ip4 or node.ip6), 0, named_netns.path_of(node.netns))
            for node in plan.clients
        ]
        self._undo = ExitStack()
        fds = self._undo.enter_context(app_state_fds(plan))
        self._workers = [
            StoreServer(
                VirtualServer(where, node.server_id, node.workers, app_state_fd=fd),
                store,
                sweep.objects,
            )
            for where, node, store, fd in zip(self.servers, plan.servers, stores, fds, strict=True)
        ]

    def __enter__(self) -> StoreRack:
        with ExitStack() as undo:
            undo.push(self._undo.pop_all())
            for worker in self._workers:
                undo.enter_context(worker)
            for client in self.clients:
                probe(client, self.servers)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def client_plan(self, scheme: Scheme, rate_rps: float, seed: int) -> ClientPlan:
        """Rate, times and mix of a run."""
        s = self._sweep
        return ClientPlan(
            scheme,
            rate_rps,
            s.duration_s,
            s.warmup_s,
            seed=seed,
            late_s=1e-3,
            mix=s.mix(),
        )

    def run(self, client_plan: ClientPlan) -> tuple[ClientSummary, dict[str, int]]:
        """One run: its sums, and what the programs and the coordinator counted."""
        with ExitStack() as undo:
            counting = undo.enter_context(Counting(self._plan))
            undo.enter_context(switch_as(self._plan, client_plan.scheme))
            clients, targets = self.clients, self.servers
            coordinator = None
            if client_plan.scheme.has_coordinator:
                port = self.servers[0].port
                coordinator = coordinator_of(
                    self._plan, self.servers, port, client_plan.drain_s, client_plan.seed
                )
                undo.enter_context(coordinator)
                clients, targets = clients[:-1], [coordinator.endpoint]
                probe(clients[0], targets)
            start_ns = time.monotonic_ns() + START_DELAY_NS
            window_ns = start_ns + int(client_plan.warmup_s * 1e9)
            with ThreadPoolExecutor(1) as reader:
                # What is sent before the window opens is warm-up, in the counters too.
                before = reader.submit(_snapshot_at, window_ns, counting, coordinator)
                summary = run_clients(replace(client_plan, start_ns=start_ns), clients, targets)
            counted = difference(_snapshot(counting, coordinator), before.result())
        return summary, counted

    def capacity_rps(self) -> float:
        """The most answers a second that baseline gets while the rate doubles from run to run,
        until the rack falls behind."""
        rate, best = CALIBRATION_RPS, 0.0
        while True:
            plan = self.client_plan(find_scheme("baseline"), rate, self._sweep.seed)
            plan = replace(plan, duration_s=CALIBRATION_S, warmup_s=0.1, quiet_s=0.5)
            achieved = self.run(plan)[0].achieved_rps
            best = max(best, achieved)
            if achieved < CALIBRATION_SHARE * rate:
                return best
            rate *= 2


def _snapshot(counting: Counting, coordinator: Coordinator | None) -> dict[str, int]:
    counted = dict(counting.snapshot())
    if coordinator is not None:
        counts = vars(coordinator.counts())
        counted |= {f"coordinator.{k}": v for k, v in counts.items() if isinstance(v, int)}
    return counted


def _snapshot_at(at_ns: int, counting: Counting, coordinator: Coordinator | None) -> dict[str, int]:
    prefer_this_thread(sleeps=True)
    time.sleep(max(0.0, (at_ns - time.monotonic_ns()) * 1e-9))
    return _snapshot(counting, coordinator)


def sweep_stores(
    rack: StoreRack, plan: Plan, sweep: StoreSweep, xdp_mode: str
) -> Iterator[RunRecord]:
    """Every scheme at every rate, `repeats` times. Raises `WrongValueError`."""
    points = [(float("nan"), rate) for rate in sweep.rates_rps]
    if not points:
        capacity = rack.capacity_rps()
        points = [(load, load * capacity) for load in sweep.loads]
    number = 0
    for repeat in range(sweep.repeats):
        for load, rate in points:
            for scheme in sweep.schemes:
                number += 1
                client_plan = rack.client_plan(scheme, rate, sweep.seed * 1_000_003 + number)
                summary, counted = rack.run(client_plan)
                record = _record(client_plan, summary, counted, sweep, plan)
                record.load, record.repeat, record.xdp_mode = load, repeat, xdp_mode
                yield record


def _record(
    client_plan: ClientPlan,
    summary: ClientSummary,
    counted: dict[str, int],
    sweep: StoreSweep,
    plan: Plan,
) -> RunRecord:
    if summary.wrong_values:
        raise WrongValueError(
            f"{summary.wrong_values} of {summary.answered} answers held a value that was "
            "never loaded",
            "the store or the path to it corrupts data; nothing was recorded",
        )
    nothing = parse_workload("const:1us")
    record = make_record(client_plan, summary, nothing, source="rack", clients=len(plan.clients))
    record.service, record.app = sweep.label, sweep.label
    record.seed = sweep.seed
    record.servers = len(plan.servers)
    record.workers = sum(node.workers for node in plan.servers)
    if summary.store_errors:
        record.note = "; ".join(filter(None, [record.note, f"{summary.store_errors} store errors"]))
        record.partial = True
    laedge = client_plan.scheme.has_coordinator
    record.cloned = counted.get("coordinator.cloned", 0) if laedge else _sum(counted, "cloned")
    record.clones_dropped = _sum(counted, "dropped_server_busy")
    record.filtered = (
        counted.get("coordinator.redundant_responses", 0)
        if laedge
        else _sum(counted, "filtered_slower_response")
    )
    record.counters = counted
    return record


def _sum(counted: dict[str, int], reason: str) -> int:
    return sum(value for name, value in counted.items() if name.endswith(f".ingress.{reason}"))
