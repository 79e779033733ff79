# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Histograms and sums of times, filled by the hot loops."""

from __future__ import annotations

import ctypes
import functools
import math

import numpy as np
import numpy.typing as npt

from loadgen.native.library import library, outdated
from loadgen.workload.distributions import FloatArray

IntArray = npt.NDArray[np.int64]

HIST_SUB_LOG2 = 10
HIST_MAX_LOG2 = 42
HIST_BUCKETS = (HIST_MAX_LOG2 - HIST_SUB_LOG2 + 1) << HIST_SUB_LOG2


def coefficient_of_variation(count: int, total: float, squares: float) -> float:
    """For `count` values with this sum and sum of squares; NaN without values."""
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
        _functions().lg_hist_init(ctypes.byref(self))

    def merge(self, other: NativeHist) -> None:
        """Adds the values of `other`."""
        _functions().lg_hist_merge(ctypes.byref(self), ctypes.byref(other))

    def quantile_ns(self, q: float) -> float:
        """Quantile `q` (0 to 1) in ns; NaN when empty."""
        return float(_functions().lg_hist_quantile(ctypes.byref(self), ctypes.c_double(q)))

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
        lib = _functions()
        middles = np.array([lib.lg_hist_value(ctypes.c_uint(int(i))) for i in used])
        return middles, counts[used].astype(np.int64)


@functools.cache
def _functions() -> ctypes.CDLL:
    lib = library()
    lib.lg_hist_quantile.restype = ctypes.c_double
    lib.lg_hist_value.restype = ctypes.c_double
    lib.lg_hist_size.restype = ctypes.c_size_t
    if lib.lg_hist_size() != ctypes.sizeof(NativeHist):
        raise outdated()
    return lib
