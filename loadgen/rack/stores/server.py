# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server node with a store: dispatcher, FCFS queue, workers with a connection each."""

from __future__ import annotations

import ctypes
import os

from loadgen.native.client_structs import MAX_THETA, Mix
from loadgen.native.server_structs import StoreConfig
from loadgen.native.traffic_library import traffic_library
from loadgen.rack.stores.process import StoreProcess
from loadgen.traffic.virtual_servers import VirtualServer
from loadgen.traffic.worker_threads import WorkerServer
from netclone_host.errors import UserError

OPERATION_TIMEOUT_S = 2.0


class StoreServer(WorkerServer):
    """Serves GET, SCAN and SET from a running store."""

    def __init__(
        self, server: VirtualServer, store: StoreProcess, objects: int, *, busy: bool = False
    ) -> None:
        super().__init__(server, busy=busy)
        self._store = StoreConfig(
            kind=int(store.kind),
            socket_path=os.fsencode(store.socket_path),
            objects=objects,
            timeout_ns=int(OPERATION_TIMEOUT_S * 1e9),
        )

    def serve(self) -> int:
        return int(
            traffic_library().lg_store_run(ctypes.byref(self._config), ctypes.byref(self._store))
        )


def make_mix(objects: int, theta: float, scan: float, write: float, scan_count: int) -> Mix:
    """Operations and keys of the clients: shares of SCAN and SET, the rest is GET; keys by
    Zipf's law with exponent `theta`, 0 to `MAX_THETA`. Raises `UserError`."""
    if not 0 <= theta <= MAX_THETA:  # nor NaN
        raise UserError(
            f"keys cannot follow Zipf's law with exponent {theta:g}",
            f"give one from 0 to {MAX_THETA:g}, such as 0.99",
        )
    mix = Mix()
    if traffic_library().lg_mix_init(
        ctypes.byref(mix),
        ctypes.c_uint64(objects),
        ctypes.c_double(theta),
        ctypes.c_double(scan),
        ctypes.c_double(write),
        ctypes.c_uint32(scan_count),
    ):
        raise UserError(
            f"no mix of {scan:g} scans of {scan_count} and {write:g} writes over {objects} objects",
            "shares add up to at most 1, and a scan reads no more objects than there are",
        )
    return mix
