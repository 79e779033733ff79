# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Door to the C code of loadgen/native: distributions and histograms.

Calls release the interpreter's lock, so that hot loops run in ordinary threads.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from loadgen.workload.distributions import Distribution, FloatArray
from loadgen.workload.services import NO_JITTER, Jitter, Workload
from netclone_host.durations import LONGEST_NS
from netclone_host.errors import UserError

IntArray = npt.NDArray[np.int64]

HIST_SUB_LOG2 = 10
HIST_MAX_LOG2 = 42
HIST_BUCKETS = (HIST_MAX_LOG2 - HIST_SUB_LOG2 + 1) << HIST_SUB_LOG2


def build_directory() -> Path:
    """Where what is compiled is; `NETCLONE_BUILD` names another place than build/."""
    build = os.environ.get("NETCLONE_BUILD")
    return Path(build) if build else Path(__file__).resolve().parents[2] / "build"


def library_path(name: str) -> Path:
    """Path of native/lib`name`.so in the build directory.

    Raises `UserError` when it is not built.
    """
    path = build_directory() / "native" / f"lib{name}.so"
    if not path.is_file():
        raise UserError(f"{path} is not there", "run 'make build' in the project's directory")
    return path


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


def coefficient_of_variation(count: int, total: float, squares: float) -> float:
    """Of `count` values with this sum and sum of squares; NaN without values."""
    if not count or not total:
        return math.nan
    mean = total / count
    return math.sqrt(max(0.0, squares / count - mean**2)) / mean


class Moments(ctypes.Structure):
    """`struct lg_moments`: sums of values in ns."""

    _fields_ = [("count", ctypes.c_uint64), ("sum", ctypes.c_double), ("sum_sq", ctypes.c_double)]

    def merge(self, other: Moments) -> None:
        """Adds the values of `other`."""
        self.count += other.count
        self.sum += other.sum
        self.sum_sq += other.sum_sq

    @property
    def mean_ns(self) -> float:
        """NaN when empty."""
        return self.sum / self.count if self.count else math.nan

    @property
    def cv(self) -> float:
        """Coefficient of variation; NaN when empty."""
        return coefficient_of_variation(self.count, self.sum, self.sum_sq)


class Stalls(ctypes.Structure):
    """`struct lg_stalls`: time in which a thread did not run although it was to."""

    longest_ns: int

    _fields_ = [
        ("count", ctypes.c_uint64),
        ("total_ns", ctypes.c_uint64),
        ("longest_ns", ctypes.c_uint64),
        ("held", ctypes.c_uint64),
        ("held_ns", ctypes.c_uint64),
        ("until_ns", ctypes.c_uint64),
        ("since_ns", ctypes.c_uint64),
        ("cpu_ns", ctypes.c_uint64),
    ]

    def merge(self, other: Stalls) -> None:
        """Adds the stalls of `other`."""
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        for name in ("count", "total_ns", "held", "held_ns"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def describe(self, held: str) -> str:
        """A sentence; `held`: what `held` counts, such as "sends"."""
        times = "once" if self.count == 1 else f"{self.count} times"
        return (
            f"the machine stood still {times}, {self.longest_ns * 1e-6:.1f} ms at the longest, "
            f"{self.total_ns * 1e-6:.0f} ms in all; that held {self.held} {held}"
        )


class NativeHist(ctypes.Structure):
    """`struct lg_hist`: a histogram of ns with an error of at most 0.05 %."""

    _fields_ = [
        ("count", ctypes.c_uint64),
        ("clipped", ctypes.c_uint64),
        ("min", ctypes.c_uint64),
        ("max", ctypes.c_uint64),
        ("sum", ctypes.c_double),
        ("sum_sq", ctypes.c_double),
        ("bucket", ctypes.c_uint64 * HIST_BUCKETS),
    ]

    def __init__(self) -> None:
        super().__init__()
        _lib().lg_hist_init(ctypes.byref(self))

    def merge(self, other: NativeHist) -> None:
        """Adds the values of `other`."""
        _lib().lg_hist_merge(ctypes.byref(self), ctypes.byref(other))

    def quantile_ns(self, q: float) -> float:
        """Quantile `q` (0 to 1) in ns; NaN when empty."""
        return float(_lib().lg_hist_quantile(ctypes.byref(self), ctypes.c_double(q)))

    @property
    def mean_ns(self) -> float:
        """Exact mean in ns; NaN when empty."""
        return self.sum / self.count if self.count else float("nan")

    @property
    def cv(self) -> float:
        """Exact coefficient of variation (standard deviation / mean); NaN when empty."""
        return coefficient_of_variation(self.count, self.sum, self.sum_sq)

    def buckets(self) -> tuple[FloatArray, IntArray]:
        """(middles in ns, counts) of the buckets that hold something."""
        counts = np.ctypeslib.as_array(self.bucket)
        used = np.flatnonzero(counts)
        lib = _lib()
        middles = np.array([lib.lg_hist_value(ctypes.c_uint(int(i))) for i in used])
        return middles, counts[used].astype(np.int64)


@functools.cache
def _lib() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(library_path("loadgen")))
    lib.lg_hist_quantile.restype = ctypes.c_double
    lib.lg_hist_value.restype = ctypes.c_double
    lib.lg_hist_size.restype = ctypes.c_size_t
    if lib.lg_hist_size() != ctypes.sizeof(NativeHist):
        raise UserError("build/native is older than the Python code", "run 'make build'")
    return lib


def library() -> ctypes.CDLL:
    """libloadgen.so. Raises `UserError` when it is missing or does not fit this code."""
    return _lib()


def native_distribution(
    service: Distribution, jitter: Jitter = NO_JITTER, scale: float = 1.0
) -> NativeDist:
    """`service` with `jitter` as the hot loops sample it, every time multiplied by `scale`."""
    lib = _lib()
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
    _lib().lg_dist_fill(
        ctypes.byref(dist),
        ctypes.c_uint64(seed),
        ctypes.c_uint64(stream),
        out.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
        ctypes.c_size_t(n),
    )
    return out
