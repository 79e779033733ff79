# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server whose workers really work: threads of C that take requests from one FCFS queue.

For real hardware: a dispatcher and W worker threads need W + 1 cores. The service itself is
`lg_spin_run` (spin for a drawn time, by the clock) or a store (loadgen/rack/stores).
"""

from __future__ import annotations

import ctypes
import mmap
import os
from abc import abstractmethod

from loadgen.native.distribution import native_workload
from loadgen.native.histogram import NativeHist
from loadgen.native.server_structs import WorkerConfig
from loadgen.native.stalls import Stalls
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.startable import Startable
from loadgen.traffic.threads import NativeThread
from loadgen.traffic.udp_io import UdpIo
from loadgen.traffic.virtual_servers import QUEUE_LIMIT, ServerStats, VirtualServer, stats_of
from loadgen.workload.services import Workload


class WorkerServer(Startable):
    """Dispatcher, queue and workers around an operation that a subclass gives."""

    spins = False
    """The operation keeps a core busy, and an interruption prolongs the service: its threads take
    precedence over ordinary ones, with real-time priority if that leaves a core to the rest."""

    def __init__(
        self,
        server: VirtualServer,
        *,
        seed: int = 1,
        busy: bool = False,
    ) -> None:
        """`busy`: dispatcher and idle workers poll; they need a core each."""
        self._server = server
        self._seed = seed
        self._busy = busy
        self._thread = NativeThread("workers")
        self._io: UdpIo | None = None
        self._config = WorkerConfig()
        self.seen = NativeHist()
        """Service times as measured around each, ns."""
        self.stats: list[ServerStats] = []

    @property
    def stalls(self) -> Stalls:
        """Times for which the machine did not run a worker that spun; `held` services."""
        stalls: Stalls = self._config.stalls
        return stalls

    @abstractmethod
    def serve(self) -> int:
        """Runs the workers until the end; 0 or -errno."""

    def start(self) -> None:
        """Opens the socket and begins to answer. Raises `UserError`; then nothing is open."""
        self._io = UdpIo(self._server.endpoint)
        c = self._config
        c.fd = traffic_library().lg_io_fd(ctypes.c_void_p(self._io.handle))
        c.workers = self._server.workers
        c.sid = self._server.sid
        c.stamp = self._server.stamp
        c.queue_limit = QUEUE_LIMIT
        c.busy = self._busy
        c.seed = self._seed
        c.stop = ctypes.pointer(self._thread.stop_flag)
        c.service_seen = ctypes.pointer(self.seen)
        if self._server.app_state_fd is not None:
            area = mmap.mmap(self._server.app_state_fd, mmap.PAGESIZE)
            c.app_state = ctypes.pointer(ctypes.c_uint32.from_buffer(area))
        c.ready = 0
        self._thread.start(
            self.serve,
            prefer=self.spins,
            sleeps=not self._busy and self._server.workers < len(os.sched_getaffinity(0)),
            ready=lambda: bool(c.ready),
            undo=self._close,
        )

    def stop(self) -> list[ServerStats]:
        """Stops answering, closes the socket; one entry, as of `VirtualServers`."""
        try:
            self._thread.stop()
        finally:
            self._close()
        self.stats = [stats_of(self._config)]
        return self.stats

    def _close(self) -> None:
        if self._io is not None:
            self._io.close()
            self._io = None


class SpinServer(WorkerServer):
    """Workers that keep their core busy for the service time of each request."""

    spins = True

    def __init__(
        self,
        server: VirtualServer,
        workload: Workload,
        *,
        time_scale: float = 1.0,
        seed: int = 1,
        busy: bool = False,
    ) -> None:
        super().__init__(server, seed=seed, busy=busy)
        self._config.service = native_workload(workload, time_scale)

    def serve(self) -> int:
        return int(traffic_library().lg_spin_run(ctypes.byref(self._config)))
