# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rack's own servers: virtual workers that take the times of a workload, stretched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from loadgen.rack.answering import Answering
from loadgen.rack.nodes import server_endpoints
from loadgen.rack.scheme_setup import answering_by
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.run_record import Setting, emulated
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.schemes import Scheme
from loadgen.workload.services import Workload
from netclone_host.rack import programs
from netclone_host.rack.app_state import app_state_fds
from netclone_host.rack.plan import Plan

# Behind the end of a run a silence of this many mean services (jitter included) means that
# nothing more will come: e^-40 of the exponential service times are longer.
QUIET_SERVICES = 40.0
MIN_QUIET_S = 0.5
MIN_LATE_S = 100e-6


@dataclass(frozen=True)
class EmulatedServers:
    """A rack that is up. Service times are multiplied by `time_scale`, rates divided by it."""

    plan: Plan
    workload: Workload
    time_scale: float = 1.0

    @property
    def setting(self) -> Setting:
        """See `rack.sweep.Servers`."""
        return emulated(
            self.workload,
            "rack",
            time_scale=self.time_scale,
            servers=len(self.plan.servers),
            workers=self._n_workers,
            clients=len(self.plan.clients),
            xdp_mode=programs.mode_of(self.plan),
        )

    @property
    def _n_workers(self) -> int:
        return sum(node.workers for node in self.plan.servers)

    @property
    def _mean_s(self) -> float:
        """Mean service time, jitter included, stretched."""
        return self.workload.mean_ns * 1e-9 * self.time_scale

    @property
    def quiet_s(self) -> float:
        """Silence after which a run's open requests are given up."""
        slowest = max(1.0, self.workload.jitter.factor)
        mean_s = self.workload.service.mean_ns * 1e-9 * self.time_scale
        return max(MIN_QUIET_S, QUIET_SERVICES * slowest * mean_s)

    def drain_s(self, duration_s: float, warmup_s: float) -> float:
        """Longest wait for the answers to an overloaded run's backlog."""
        return 4 * (warmup_s + duration_s) + self.quiet_s

    def rate_rps(self, load: float) -> float:
        """See `rack.sweep.Servers`."""
        return self.workload.rate_rps(load, 1, self._n_workers, self.time_scale)

    def client_plan(
        self, scheme: Scheme, rate_rps: float, duration_s: float, warmup_s: float
    ) -> ClientPlan:
        """See `rack.sweep.Servers`."""
        return ClientPlan(
            scheme,
            rate_rps,
            duration_s,
            warmup_s,
            # Late by less than a tenth of the mean service is not late.
            late_s=max(MIN_LATE_S, self._mean_s / 10),
            quiet_s=self.quiet_s,
            drain_s=self.drain_s(duration_s, warmup_s),
        )

    @contextmanager
    def answering(
        self, scheme: Scheme, seed: int = 1, timeout_s: float = 60.0
    ) -> Iterator[Answering]:
        """See `rack.sweep.Servers`. The servers are started for the block: each run draws its
        own service times."""
        plan = self.plan
        endpoints = server_endpoints(plan)
        with ExitStack() as undo:
            fds = undo.enter_context(app_state_fds(plan))
            servers = VirtualServers(
                [
                    VirtualServer(where, node.server_id, node.workers, app_state_fd=fd)
                    for where, node, fd in zip(endpoints, plan.servers, fds, strict=True)
                ],
                self.workload,
                time_scale=self.time_scale,
                seed=seed,
            )
            undo.enter_context(servers)
            yield undo.enter_context(
                answering_by(
                    plan, scheme, seed, timeout_s,
                    pending=lambda: servers.pending, stalls=lambda: servers.stalls,
                )
            )  # fmt: skip
