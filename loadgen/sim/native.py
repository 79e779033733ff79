# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Door to the C code of the simulator (native/sim/sim.h), one replication a call."""

from __future__ import annotations

import ctypes
import functools
from enum import IntEnum

from loadgen.native.distribution import NativeDist
from loadgen.native.histogram import NativeHist
from loadgen.native.library import library_path
from netclone_host.errors import UserError

MAX_SERVERS = 256
MAX_RACKS = 16
MAX_CLASSES = 4
MAX_FAULTS = 64


class FaultKind(IntEnum):
    """`enum sim_fault_kind`."""

    SERVER_DOWN = 0
    SERVER_UP = 1
    SWITCH_DOWN = 2
    SWITCH_UP = 3
    SERVER_REMOVED = 4
    SERVER_ADDED = 5


class NativeFault(ctypes.Structure):
    """`struct sim_fault`."""

    _fields_ = [("at_ns", ctypes.c_double), ("kind", ctypes.c_uint32), ("id", ctypes.c_uint32)]


class NativeClass(ctypes.Structure):
    """`struct sim_class`."""

    _fields_ = [
        ("share", ctypes.c_double),
        ("no_clone", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("service", NativeDist),
    ]


_U32 = [
    "scheme",
    "servers",
    "clients",
    "racks",
    "copies",
    "classes",
    "faults",
    "queue_limit",
    "filter_tables",
    "filter_slots_log2",
    "coordinator_slots",
    "count_in_flight",
    "reserved0",
    "shared_service",
]
_DOUBLE = [
    "rate_rps",
    "link_ns",
    "aggregation_ns",
    "switch_ns",
    "dispatch_ns",
    "client_ns",
    "coordinator_ns",
    "coordinator_timeout_ns",
    "loss",
    "server_timeout_ns",
    "timeline_ns",
]


class NativeConfig(ctypes.Structure):
    """`struct sim_config`."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in _U32),
        ("seed", ctypes.c_uint64),
        ("warmup", ctypes.c_uint64),
        ("requests", ctypes.c_uint64),
        *((name, ctypes.c_double) for name in _DOUBLE),
        ("timeline_buckets", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("workers", ctypes.c_uint32 * MAX_SERVERS),
        ("klass", NativeClass * MAX_CLASSES),
        ("fault", NativeFault * MAX_FAULTS),
    ]


COUNTS = [
    "sent",
    "answered",
    "lost",
    "answers",
    "cloned",
    "clones_refused",
    "filtered",
    "slipped",
    "delivered_twice",
    "packets_lost",
    "queue_overflows",
    "coordinator_overflows",
    "total_requests",
    "total_events",
]
AREAS = ["window_ns", "in_system_area", "busy_area", "queued_area"]


class NativeResult(ctypes.Structure):
    """`struct sim_result`."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in COUNTS[:3]),
        *((name, ctypes.c_double) for name in AREAS),
        *((name, ctypes.c_uint64) for name in COUNTS[3:]),
    ]


@functools.cache
def _lib() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(library_path("ncsim")))
    sizes = (ctypes.c_size_t * 4)()
    lib.sim_abi(sizes)
    expected = [ctypes.sizeof(c) for c in (NativeConfig, NativeResult, NativeClass, NativeHist)]
    if list(sizes) != expected:
        raise UserError("build/native is older than the Python code", "run 'make build'")
    return lib


def library() -> None:
    """Loads the simulator. Raises `UserError` when it is missing or does not fit this code."""
    _lib()


def run(
    config: NativeConfig, timeline_buckets: int = 0
) -> tuple[NativeResult, NativeHist, list[int]]:
    """Simulates one replication: its sums, latencies in ns, and answers by timeline bucket.

    The interpreter's lock is released meanwhile.
    """
    result, latency = NativeResult(), NativeHist()
    config.timeline_buckets = timeline_buckets
    timeline = (ctypes.c_uint64 * max(timeline_buckets, 1))()
    error = _lib().sim_run(
        ctypes.byref(config), ctypes.byref(result), ctypes.byref(latency), timeline
    )
    if error:
        raise UserError("no memory for the simulation", "simulate fewer clients or shorter queues")
    return result, latency, list(timeline)[:timeline_buckets]
