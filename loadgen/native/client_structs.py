# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The structs of traffic/{client,operation_mix,plain_client}.h as ctypes."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from enum import IntEnum, IntFlag

from loadgen.native.distribution import NativeDist
from loadgen.native.histogram import Moments, NativeHist
from loadgen.native.io_structs import AlignedPeer
from loadgen.native.stalls import Stalls


class ClientFlag(IntFlag):
    """`enum lg_client_flags`."""

    BUSY = 1
    SATURATE = 2
    KEEN = 4


class ClientEnd(IntEnum):
    """`enum lg_client_end`."""

    COMPLETE = 0
    STOPPED = 1
    IO = 2
    TRACE = 3


MAX_THETA = 10.0
"""`LG_THETA_MAX`."""


class Mix(ctypes.Structure):
    """`struct lg_mix`."""

    _fields_ = [
        ("enabled", c_uint32),
        ("scan_count", c_uint32),
        ("scan", c_double),
        ("set", c_double),
        ("objects", c_uint64),
        ("theta", c_double),
        ("h_x1", c_double),
        ("h_n", c_double),
        ("s", c_double),
    ]


class ClientConfig(ctypes.Structure):
    """`struct lg_client_config`."""

    _fields_ = [
        ("io", c_void_p),
        ("peers", ctypes.POINTER(AlignedPeer)),
        ("n_peers", c_uint32),
        ("target", c_uint32),
        ("flags", c_uint32),
        ("run", c_uint32),
        ("stream", c_uint32),
        ("n_groups", c_uint32),
        ("n_filter_tables", c_uint32),
        ("payload_len", c_uint32),
        ("seed", c_uint64),
        ("start_ns", c_uint64),
        ("warmup_ns", c_uint64),
        ("duration_ns", c_uint64),
        ("quiet_ns", c_uint64),
        ("drain_ns", c_uint64),
        ("late_ns", c_uint64),
        ("gap", NativeDist),
        ("burst", c_uint32),
        ("trace_fd", c_int32),
        ("draw_service", c_uint32),
        ("reserved", c_uint32),
        ("service", NativeDist),
        ("mix", Mix),
        ("stop", ctypes.POINTER(c_uint32)),
    ]


class ClientResult(ctypes.Structure):
    """`struct lg_client_result`."""

    _fields_ = [
        ("scheduled", c_uint64),
        ("sent", c_uint64),
        ("answered", c_uint64),
        ("redundant", c_uint64),
        ("copies_sent", c_uint64),
        ("responses", c_uint64),
        ("of_cloned", c_uint64),
        ("window_answers", c_uint64),
        ("late_sends", c_uint64),
        ("max_late_ns", c_uint64),
        ("send_errors", c_uint64),
        ("stale", c_uint64),
        ("wrong_values", c_uint64),
        ("store_errors", c_uint64),
        ("rx_dropped", c_uint64),
        ("rx_invalid", c_uint64),
        ("cpu_ns", c_uint64),
        ("measured_ns", c_uint64),
        ("last_begin_ns", c_uint64),
        ("all_sent", c_uint64),
        ("clock_step_ns", c_int64),
        ("end", c_uint32),
        ("io_error", c_int32),
        ("send_errno", c_int32),
        ("reserved", c_uint32),
        ("latency", NativeHist),
        ("late", NativeHist),
        ("sent_gap", NativeHist),
        ("sched_gap", NativeHist),
        ("stalls", Stalls),
        ("unheld_gap", Moments),
    ]


class TraceEntry(ctypes.Structure):
    """`struct lg_trace_entry`."""

    _fields_ = [
        ("seq", c_uint64),
        ("sched_ns", c_uint64),
        ("sent_ns", c_uint64),
        ("recv_ns", c_uint64),
        ("sid", c_uint32),
        ("clo", c_uint32),
    ]


class PlainResult(ctypes.Structure):
    """`struct lg_plain_result`."""

    _fields_ = [
        ("sent", c_uint64),
        ("answered", c_uint64),
        ("errors", c_uint64),
        ("cpu_ns", c_uint64),
        ("latency", NativeHist),
    ]
