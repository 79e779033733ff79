# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The structs of traffic/{virtual_servers,worker_threads,store,coordinator}.h as ctypes."""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_uint32, c_uint64, c_void_p
from enum import IntFlag

from loadgen.native.distribution import NativeDist
from loadgen.native.histogram import NativeHist
from loadgen.native.io_structs import AlignedPeer
from loadgen.native.stalls import Stalls


class ServerFlag(IntFlag):
    """`enum lg_server_flags`."""

    STAMP = 1


class ServerCounts(ctypes.Structure):
    """`struct lg_server_counts`."""

    _fields_ = [
        ("received", c_uint64),
        ("answered", c_uint64),
        ("clones_dropped", c_uint64),
        ("rejected", c_uint64),
        ("invalid", c_uint64),
        ("pings", c_uint64),
        ("send_errors", c_uint64),
        ("max_queue", c_uint64),
        ("busy_ns", c_uint64),
        ("abandoned", c_uint64),
    ]


class ServerNode(ctypes.Structure):
    """`struct lg_server_node`."""

    _anonymous_ = ("counts",)
    _fields_ = [
        ("io", c_void_p),
        ("workers", c_uint32),
        ("sid", c_uint32),
        ("flags", c_uint32),
        ("queue_limit", c_uint32),
        ("app_state", ctypes.POINTER(c_uint32)),
        ("service", NativeDist),
        ("counts", ServerCounts),
    ]


class ServerConfig(ctypes.Structure):
    """`struct lg_server_config`."""

    _fields_ = [
        ("nodes", ctypes.POINTER(ServerNode)),
        ("n_nodes", c_uint32),
        ("busy", c_uint32),
        ("seed", c_uint64),
        ("stop", ctypes.POINTER(c_uint32)),
        ("service", ctypes.POINTER(NativeHist)),
        ("overrun", ctypes.POINTER(NativeHist)),
        ("arrival_gap", ctypes.POINTER(NativeHist)),
        ("stalls", Stalls),
    ]


class CoordinatorServer(ctypes.Structure):
    """`struct lg_coordinator_server`."""

    _fields_ = [
        ("peer", AlignedPeer),
        ("slots", c_uint32),
        ("in_use", c_uint32),
        ("sent", c_uint64),
        ("answered", c_uint64),
    ]


class CoordinatorConfig(ctypes.Structure):
    """`struct lg_coordinator_config`."""

    _fields_ = [
        ("io", c_void_p),
        ("servers", ctypes.POINTER(CoordinatorServer)),
        ("n_servers", c_uint32),
        ("busy", c_uint32),
        ("seed", c_uint64),
        ("timeout_ns", c_uint64),
        ("queue_limit", c_uint32),
        ("client_id", c_uint32),
        ("stop", ctypes.POINTER(c_uint32)),
        ("requests", c_uint64),
        ("cloned", c_uint64),
        ("forwarded", c_uint64),
        ("queued", c_uint64),
        ("rejected", c_uint64),
        ("first_responses", c_uint64),
        ("redundant_responses", c_uint64),
        ("stale_responses", c_uint64),
        ("timeouts", c_uint64),
        ("invalid", c_uint64),
        ("send_errors", c_uint64),
        ("max_queue", c_uint64),
        ("cpu_ns", c_uint64),
    ]


class WorkerConfig(ctypes.Structure):
    """`struct lg_worker_config`."""

    _anonymous_ = ("counts",)
    _fields_ = [
        ("fd", c_int32),
        ("workers", c_uint32),
        ("sid", c_uint32),
        ("stamp", c_uint32),
        ("queue_limit", c_uint32),
        ("busy", c_uint32),
        ("seed", c_uint64),
        ("app_state", ctypes.POINTER(c_uint32)),
        ("service", NativeDist),
        ("stop", ctypes.POINTER(c_uint32)),
        ("counts", ServerCounts),
        ("service_seen", ctypes.POINTER(NativeHist)),
        ("stalls", Stalls),
        ("ready", c_uint32),
        ("reserved", c_uint32),
    ]


class StoreConfig(ctypes.Structure):
    """`struct lg_store_config`."""

    _fields_ = [
        ("kind", c_uint32),
        ("reserved", c_uint32),
        ("socket_path", ctypes.c_char_p),
        ("objects", c_uint64),
        ("timeout_ns", c_uint64),
    ]
