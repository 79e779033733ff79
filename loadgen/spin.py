# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server whose workers really work: threads of C that take requests from one FCFS queue.

For real hardware: a dispatcher and W worker threads want W + 1 cores. The service itself is
`lg_spin_run` (spin for a drawn time, by the clock) or a store (loadgen/stores).
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from types import TracebackType

from loadgen.abi import WorkerConfig, traffic_library
from loadgen.endpoints import UdpIo
from loadgen.native import NativeHist, native_workload
from loadgen.servers import QUEUE_LIMIT, ServerStats, VirtualServer
from loadgen.workload import Workload
from netclone_host.errors import UserError


class WorkerServer:
    """Dispatcher, queue and workers around an operation that a subclass gives."""

    def __init__(
        self,
        server: VirtualServer,
        *,
        seed: int = 1,
        busy: bool = False,
    ) -> None:
        """`busy`: dispatcher and idle workers poll; they want a core each."""
        self._server = server
        self._stop = ctypes.c_uint32(0)
        self._seed = seed
        self._busy = busy
        self._thread: threading.Thread | None = None
        self._io: UdpIo | None = None
        self._error = 0
        self._config = WorkerConfig()
        self.seen = NativeHist()
        """Service times as measured around each, ns."""
        self.stats: list[ServerStats] = []

    def serve(self) -> int:
        """Runs the workers until the end; 0 or -errno."""
        raise NotImplementedError

    def start(self) -> None:
        """Opens the socket and begins to answer. Raises `UserError`; then nothing is open."""
        self._io = UdpIo(self._server.endpoint)
        self._stop.value = 0
        c = self._config
        c.fd = traffic_library().lg_io_fd(ctypes.c_void_p(self._io.handle))
        c.workers = self._server.workers
        c.sid = self._server.sid
        c.stamp = self._server.stamp
        c.queue_limit = QUEUE_LIMIT
        c.busy = self._busy
        c.seed = self._seed
        c.stop = ctypes.pointer(self._stop)
        c.service_seen = ctypes.pointer(self.seen)
        if self._server.app_state_fd is not None:
            area = mmap.mmap(self._server.app_state_fd, mmap.PAGESIZE)
            c.app_state = ctypes.pointer(ctypes.c_uint32.from_buffer(area))
        self._thread = threading.Thread(target=self._run, name="dispatcher", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._error = self.serve()

    def stop(self) -> list[ServerStats]:
        """Stops answering, closes the socket; one entry, as of `VirtualServers`."""
        self._stop.value = 1
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._io is not None:
            self._io.close()
            self._io = None
        if self._error:
            raise UserError(f"the workers could not start ({self._error})", "use fewer of them")
        c = self._config
        self.stats = [
            ServerStats(
                sid=c.sid,
                received=c.received,
                answered=c.answered,
                clones_dropped=c.clones_dropped,
                rejected=c.rejected,
                invalid=c.invalid,
                pings=c.pings,
                send_errors=c.send_errors,
                max_queue=c.max_queue,
                busy_s=c.busy_ns * 1e-9,
                abandoned=c.abandoned,
            )
        ]
        return self.stats

    def __enter__(self) -> WorkerServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class SpinServer(WorkerServer):
    """Workers that keep their core busy for the service time of each request."""

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
