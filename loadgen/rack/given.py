# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Servers that are given by address: they and the switch are set up, only the clients run here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from loadgen.rack.answering import Answering
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.probe import probe
from loadgen.traffic.run_record import Setting, emulated
from loadgen.workload.schemes import Scheme
from loadgen.workload.services import Workload


class GivenServers:
    """Servers of `workers` workers each that take the times of a workload."""

    def __init__(
        self,
        client: Endpoint,
        servers: Sequence[Endpoint],
        workload: Workload,
        workers: int,
        time_scale: float = 1.0,
    ) -> None:
        """Raises `UserError` unless every server answers."""
        probe(client, servers)
        self._client = client
        self._servers = list(servers)
        self._workload = workload
        self._workers = workers
        self._time_scale = time_scale

    @property
    def setting(self) -> Setting:
        """See `rack.sweep.Servers`."""
        return emulated(
            self._workload,
            "loadgen",
            time_scale=self._time_scale,
            servers=len(self._servers),
            workers=self._workers,
        )

    def rate_rps(self, load: float) -> float:
        """See `rack.sweep.Servers`."""
        return self._workload.rate_rps(load, len(self._servers), self._workers, self._time_scale)

    def client_plan(
        self, scheme: Scheme, rate_rps: float, duration_s: float, warmup_s: float
    ) -> ClientPlan:
        """See `rack.sweep.Servers`."""
        return ClientPlan(scheme, rate_rps, duration_s, warmup_s)

    @contextmanager
    def answering(self, scheme: Scheme, seed: int, timeout_s: float) -> Iterator[Answering]:
        """See `rack.sweep.Servers`. Which scheme the switch follows is not ours to set."""
        yield Answering([self._client], self._servers)
