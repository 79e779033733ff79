# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rack's servers with real stores behind them.

Stores take the time they take: nothing is stretched, and rates are real. Load 1 is the highest
rate that the rack answers with baseline, found by doubling the rate; on a machine with few cores
that is the machine's limit, not the stores'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property

from loadgen.native.client_structs import Mix
from loadgen.rack.answering import Answering
from loadgen.rack.calibrate import STORES, calibrate
from loadgen.rack.nodes import server_endpoints
from loadgen.rack.scheme_setup import answering_by
from loadgen.rack.stores.loading import load_objects
from loadgen.rack.stores.process import StoreKind, StoreProcess, require_memory
from loadgen.rack.stores.server import StoreServer, make_mix
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.run_record import Setting
from loadgen.traffic.virtual_servers import VirtualServer
from loadgen.workload.schemes import Scheme
from netclone_host.kernel import netns
from netclone_host.rack import programs
from netclone_host.rack.app_state import app_state_fds
from netclone_host.rack.plan import Plan

LATE_S = 1e-3


@dataclass(frozen=True)
class StoreLoad:
    """Which stores, what they hold, and what the clients ask of them."""

    kind: StoreKind
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


class StoreServers:
    """A rack that is up, whose servers answer from running stores."""

    def __init__(self, plan: Plan, load: StoreLoad, seed: int) -> None:
        """Made by `store_servers`. `seed`: of the calibration."""
        self._plan = plan
        self._load = load
        self._seed = seed

    @property
    def setting(self) -> Setting:
        """See `rack.sweep.Servers`."""
        return Setting(
            "rack",
            self._load.label,
            app=self._load.label,
            servers=len(self._plan.servers),
            workers=sum(node.workers for node in self._plan.servers),
            clients=len(self._plan.clients),
            xdp_mode=programs.mode_of(self._plan),
        )

    def rate_rps(self, load: float) -> float:
        """See `rack.sweep.Servers`."""
        return load * self._capacity_rps

    @cached_property
    def _capacity_rps(self) -> float:
        return calibrate(self, STORES, self._seed).requests_per_s

    def client_plan(
        self, scheme: Scheme, rate_rps: float, duration_s: float, warmup_s: float
    ) -> ClientPlan:
        """See `rack.sweep.Servers`."""
        return ClientPlan(
            scheme, rate_rps, duration_s, warmup_s, late_s=LATE_S, mix=self._load.mix()
        )

    @contextmanager
    def answering(self, scheme: Scheme, seed: int, timeout_s: float) -> Iterator[Answering]:
        """See `rack.sweep.Servers`."""
        with answering_by(self._plan, scheme, seed, timeout_s) as there:
            yield there


@contextmanager
def store_servers(
    plan: Plan, load: StoreLoad, seed: int, stores: Sequence[StoreProcess]
) -> Iterator[StoreServers]:
    """Within the block each server of the rack answers from its store."""
    with ExitStack() as undo:
        fds = undo.enter_context(app_state_fds(plan))
        for where, node, store, fd in zip(
            server_endpoints(plan), plan.servers, stores, fds, strict=True
        ):
            server = VirtualServer(where, node.server_id, node.workers, app_state_fd=fd)
            undo.enter_context(StoreServer(server, store, load.objects))
        yield StoreServers(plan, load, seed)


@contextmanager
def running_stores(
    plan: Plan, load: StoreLoad, progress: Callable[[str, int], None]
) -> Iterator[list[StoreProcess]]:
    """A store in each server's namespace, loaded; `progress(node, objects written)`.

    Raises `UserError`, for one where the stores would not fit into the free memory.
    """
    require_memory(load.objects, len(plan.servers))
    with ExitStack() as undo:
        stores = []
        for node in plan.servers:
            store = StoreProcess(load.kind, load.objects, netns.path_of(node.netns))
            undo.enter_context(store)

            def loaded(written: int, name: str = node.name) -> None:
                progress(name, written)

            load_objects(store, load.objects, loaded)
            stores.append(store)
        yield stores
