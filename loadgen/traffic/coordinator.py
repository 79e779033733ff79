# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The LAEDGE coordinator as a thread of C; what it does is in native/traffic/coordinator.h.

Use::

    with Coordinator(Endpoint("10.0.1.9", 1000, netns), servers, slots=15) as coordinator:
        run_clients(plan, clients, [coordinator.endpoint])
    coordinator.stats
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.native.server_structs import CoordinatorConfig, CoordinatorServer
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.endpoints import Endpoint, native_peer
from loadgen.traffic.startable import Startable
from loadgen.traffic.threads import NativeThread
from loadgen.traffic.udp_io import UdpIo
from loadgen.traffic.virtual_servers import DEFAULT_WORKERS, QUEUE_LIMIT
from netclone_host.errors import UserError

CLIENT_ID = 0xC000
DEFAULT_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class CoordinatorStats:
    """What the coordinator did; requests = cloned + forwarded + rejected + still waiting."""

    requests: int
    cloned: int
    forwarded: int
    queued: int
    """Requests that found no idle server and waited."""
    rejected: int
    first_responses: int
    redundant_responses: int
    stale_responses: int
    timeouts: int
    """Originals and clones that were never answered."""
    invalid: int
    send_errors: int
    max_queue: int
    cpu_s: float
    """Processor time of its thread."""


class Coordinator(Startable):
    """Clones to two idle servers, forwards to one, queues when there is none."""

    def __init__(
        self,
        endpoint: Endpoint,
        servers: Sequence[Endpoint],
        *,
        slots: int | Sequence[int] = DEFAULT_WORKERS,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        seed: int = 1,
        busy: bool = False,
        prefer: bool = True,
    ) -> None:
        """`slots`: requests at once, of every server or one number each; by default as many
        as it has workers. `prefer` False: no real-time priority."""
        self.endpoint = endpoint
        self._servers = list(servers)
        self._slots = [slots] * len(self._servers) if isinstance(slots, int) else list(slots)
        if len(self._slots) != len(self._servers) or min(self._slots, default=0) < 1:
            raise UserError(
                f"slots {self._slots} do not fit {len(self._servers)} servers",
                "give one number above 0, or one for each server",
            )
        self._timeout_s = timeout_s
        self._seed = seed
        self._busy = busy
        self._prefer = prefer
        self._thread = NativeThread("coordinator")
        self._io: UdpIo | None = None
        self.stats: CoordinatorStats | None = None

    def start(self) -> None:
        """Opens the socket and begins. Raises `UserError`; then nothing is open."""
        table = (CoordinatorServer * len(self._servers))()
        for entry, server, slots in zip(table, self._servers, self._slots, strict=True):
            entry.peer = native_peer(server)
            entry.slots = slots
        self._io = UdpIo(self.endpoint)
        self._config = CoordinatorConfig(
            io=self._io.handle,
            servers=table,
            n_servers=len(table),
            busy=self._busy,
            seed=self._seed,
            timeout_ns=int(self._timeout_s * 1e9),
            queue_limit=QUEUE_LIMIT,
            client_id=CLIENT_ID,
            stop=ctypes.pointer(self._thread.stop_flag),
        )
        self._thread.start(
            lambda: int(traffic_library().lg_coordinator_run(ctypes.byref(self._config))),
            prefer=self._prefer,
            sleeps=not self._busy,
            undo=self._close,
        )

    def stop(self) -> CoordinatorStats:
        """Stops, closes the socket, and returns the counts."""
        try:
            self._thread.stop()
        finally:
            self._close()
        self.stats = self.counts()
        return self.stats

    def _close(self) -> None:
        if self._io is not None:
            self._io.close()
            self._io = None

    def counts(self) -> CoordinatorStats:
        """The counts so far, also while it runs (the processor time only at the end)."""
        c = self._config
        return CoordinatorStats(
            **{
                name: getattr(c, name)
                for name in CoordinatorStats.__dataclass_fields__
                if name != "cpu_s"
            },
            cpu_s=c.cpu_ns * 1e-9,
        )
