# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Servers with virtual workers: all servers of a rack in one thread of C.

Use::

    servers = VirtualServers([VirtualServer(Endpoint("10.0.1.101", netns=...), sid=0)],
                             workload, time_scale=200)
    with servers:                      # sockets are open and answering inside
        ...
    servers.stats                      # one ServerStats per server, after the end
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.native.distribution import native_workload
from loadgen.native.histogram import NativeHist
from loadgen.native.server_structs import ServerConfig, ServerFlag, ServerNode, WorkerConfig
from loadgen.native.stalls import Stalls
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.af_xdp import XdpIo
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.io import SOCKET, IoOptions, open_io
from loadgen.traffic.startable import Startable
from loadgen.traffic.threads import NativeThread
from loadgen.traffic.udp_io import UdpIo
from loadgen.workload.services import Workload

DEFAULT_WORKERS = 15
QUEUE_LIMIT = 1 << 20


@dataclass(frozen=True)
class VirtualServer:
    """One server: its address, id and number of workers."""

    endpoint: Endpoint
    sid: int
    workers: int = DEFAULT_WORKERS
    stamp: bool = False
    """True: no server program is attached, the server does its part itself: it drops
    clones while its queue is not empty, and writes SID and STATE."""
    app_state_fd: int | None = None
    """Descriptor of the mmap-able array `nc_app_state` (attach --state app), which gets the length
    of the queue. Stays the caller's."""


@dataclass(frozen=True)
class ServerStats:
    """What a server saw, pings included in `received`."""

    sid: int
    received: int
    answered: int
    clones_dropped: int
    rejected: int
    """Requests that found the queue full."""
    invalid: int
    pings: int
    send_errors: int
    max_queue: int
    busy_s: float
    """Service time of all started requests."""
    abandoned: int
    """Requests that still waited or were in service at the end."""


class VirtualServers(Startable):
    """Any number of servers in one thread (see the module's docstring)."""

    def __init__(
        self,
        servers: Sequence[VirtualServer],
        workload: Workload,
        *,
        time_scale: float = 1.0,
        seed: int = 1,
        busy: bool = False,
        kernel_timestamps: bool = True,
        io: IoOptions = SOCKET,
    ) -> None:
        """`workload` stretched by `time_scale`; `busy`: never sleep (needs a core)."""
        self._servers = list(servers)
        self._workload = workload
        self._scale = time_scale
        self._seed = seed
        self._busy = busy
        self._kernel_timestamps = kernel_timestamps
        self._io = io
        self._thread = NativeThread("servers")
        self._ios: list[UdpIo | XdpIo] = []
        self._maps: list[mmap.mmap] = []
        self.stats: list[ServerStats] = []
        self.service = NativeHist()
        """Service times drawn, ns of stretched time."""
        self.overrun = NativeHist()
        """How long after the end of its service a response was sent, real ns."""
        self.arrival_gap = NativeHist()
        """Between two requests in a row at a server, real ns, by the clock of the arrivals."""

    def start(self) -> None:
        """Opens the sockets and begins to answer. Raises `UserError`; then nothing is open."""
        nodes = (ServerNode * len(self._servers))()
        try:
            for node, server in zip(nodes, self._servers, strict=True):
                self._fill(node, server)
        except BaseException:
            self._release()
            raise
        self._nodes = nodes
        self._config = ServerConfig(
            nodes=nodes,
            n_nodes=len(nodes),
            busy=self._busy,
            seed=self._seed,
            stop=ctypes.pointer(self._thread.stop_flag),
            service=ctypes.pointer(self.service),
            overrun=ctypes.pointer(self.overrun),
            arrival_gap=ctypes.pointer(self.arrival_gap),
        )
        self._thread.start(
            lambda: int(traffic_library().lg_server_run(ctypes.byref(self._config))),
            sleeps=not self._busy,
            undo=self._release,
        )

    @property
    def received(self) -> int:
        """Requests that have come so far, over all servers; 0 when stopped."""
        return sum(n.received for n in self._nodes) if self._thread.is_running else 0

    @property
    def stalls(self) -> Stalls:
        """Times for which the machine did not run the servers' thread; `held` responses."""
        stalls: Stalls = self._config.stalls
        return stalls

    @property
    def pending(self) -> int:
        """Requests that wait or are in service now, over all servers; 0 when stopped."""
        if not self._thread.is_running:
            return 0
        ended = ("answered", "clones_dropped", "rejected", "pings")
        return sum(n.received - sum(getattr(n, end) for end in ended) for n in self._nodes)

    def stop(self) -> list[ServerStats]:
        """Stops answering, closes the sockets, and returns one entry per server."""
        if self._thread.is_running:
            try:
                self._thread.stop()
                self.stats = [stats_of(node) for node in self._nodes]
            finally:
                self._release()
        return self.stats

    def _fill(self, node: ServerNode, server: VirtualServer) -> None:
        io = open_io(server.endpoint, self._io, kernel_timestamps=self._kernel_timestamps)
        self._ios.append(io)
        app_state_fd = server.app_state_fd
        if isinstance(io, XdpIo) and app_state_fd is None:
            app_state_fd = io.app_state_fd
        node.io = io.handle
        node.workers = server.workers
        node.sid = server.sid
        node.flags = ServerFlag.STAMP if server.stamp or self._io.is_xdp else 0
        node.queue_limit = QUEUE_LIMIT
        node.service = native_workload(self._workload, self._scale)
        if app_state_fd is not None:
            area = mmap.mmap(app_state_fd, mmap.PAGESIZE)
            self._maps.append(area)
            state = ctypes.c_uint32.from_buffer(area)
            node.app_state = ctypes.pointer(state)

    def _release(self) -> None:
        for io in self._ios:
            io.close()
        self._ios.clear()
        # The maps are unmapped with the last pointer into them.
        self._maps.clear()


def stats_of(counted: ServerNode | WorkerConfig) -> ServerStats:
    """What the loop counted in its configuration."""
    return ServerStats(
        busy_s=counted.busy_ns * 1e-9,
        **{
            name: getattr(counted, name)
            for name in ServerStats.__dataclass_fields__
            if name != "busy_s"
        },
    )
