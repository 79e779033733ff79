# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Distributions, workloads and arrivals as the hot loops sample them."""

from __future__ import annotations

import ctypes

import numpy as np

from loadgen.native.library import library
from loadgen.workload.arrivals import Arrivals
from loadgen.workload.distributions import Distribution, FloatArray
from loadgen.workload.services import NO_JITTER, Jitter, Workload
from netclone_host.durations import LONGEST_NS
from netclone_host.errors import UserError


class NativeDist(ctypes.Structure):
    """`struct lg_dist`."""

    _fields_ = [
        ("kind", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("a", ctypes.c_double),
        ("b", ctypes.c_double),
        ("value", ctypes.c_double * 3),
        ("upto", ctypes.c_double * 2),
        ("trace", ctypes.POINTER(ctypes.c_double)),
        ("trace_len", ctypes.c_uint64),
        ("trace_pos", ctypes.c_uint64),
        ("jitter_factor", ctypes.c_double),
        ("jitter_bound", ctypes.c_uint64),
    ]

    owner: FloatArray | None = None
    """The trace that `trace` points into: kept alive with the struct."""


def native_distribution(
    service: Distribution, jitter: Jitter = NO_JITTER, scale: float = 1.0
) -> NativeDist:
    """`service` with `jitter` as the hot loops sample it, every time multiplied by `scale`."""
    lib = library()
    dist = NativeDist()
    params = (ctypes.c_double * len(service.params))(*service.params)
    trace, length = None, 0
    if service.trace is not None:
        dist.owner = np.ascontiguousarray(service.trace, dtype=np.float64)
        trace = dist.owner.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        length = len(dist.owner)
    error = lib.lg_dist_init(
        ctypes.byref(dist),
        int(service.kind),
        params,
        ctypes.c_size_t(len(service.params)),
        trace,
        ctypes.c_size_t(length),
    ) or lib.lg_dist_set_jitter(
        ctypes.byref(dist), ctypes.c_double(jitter.probability), ctypes.c_double(jitter.factor)
    )
    if error or not service.mean_ns * scale <= LONGEST_NS:
        raise UserError(f"distribution '{service.text}' is out of range", "see docs/loadgen.md")
    lib.lg_dist_scale(ctypes.byref(dist), ctypes.c_double(scale))
    return dist


def native_workload(workload: Workload, time_scale: float = 1.0) -> NativeDist:
    """`workload` stretched by `time_scale`."""
    return native_distribution(workload.service, workload.jitter, time_scale)


def sample_ns(dist: NativeDist, n: int, seed: int, stream: int = 0) -> FloatArray:
    """`n` samples in ns of stream `stream` of `seed`; the same arguments give the same samples."""
    out = np.empty(n, dtype=np.float64)
    library().lg_dist_fill(
        ctypes.byref(dist),
        ctypes.c_uint64(seed),
        ctypes.c_uint64(stream),
        out.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
        ctypes.c_size_t(n),
    )
    return out


def native_gaps(arrivals: Arrivals, rate_rps: float) -> NativeDist:
    """Gaps between the bursts of `arrivals`. Raises `UserError` for a rate out of range."""
    gaps, stretch = arrivals.gaps(rate_rps)
    return native_distribution(gaps, scale=stretch)
