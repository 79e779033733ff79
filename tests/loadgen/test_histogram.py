# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The histogram's stated error, against sorted samples."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.native.histogram import HIST_MAX_LOG2, NativeHist
from loadgen.native.library import library


def record(hist: NativeHist, value: int) -> None:
    library().lg_hist_record(ctypes.byref(hist), ctypes.c_uint64(value))


@given(st.integers(0, (1 << HIST_MAX_LOG2) - 1))
def test_error_of_one_value(value: int) -> None:
    hist = NativeHist()
    record(hist, value)
    record(hist, 0)
    record(hist, (1 << HIST_MAX_LOG2) - 1)
    assert abs(hist.quantile_ns(0.5) - value) <= value / 2048


@pytest.mark.parametrize("q", [0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0])
def test_quantiles(q: float) -> None:
    samples = np.sort(np.random.default_rng(1).lognormal(10, 2, 20_000).astype(np.uint64))
    hist = NativeHist()
    for sample in samples:
        record(hist, int(sample))
    exact = samples[max(0, math.ceil(q * len(samples)) - 1)]
    assert hist.quantile_ns(q) == pytest.approx(float(exact), rel=0.0005)
    assert hist.mean_ns == pytest.approx(samples.mean())


def test_merge_adds_and_clipped_values_are_counted() -> None:
    a, b = NativeHist(), NativeHist()
    record(a, 1000)
    record(b, 5_000_000)
    record(b, 1 << 50)
    a.merge(b)
    middles, counts = a.buckets()
    assert (a.count, a.min, a.max, a.clipped) == (3, 1000, 1 << 50, 1)
    assert counts.sum() == 3
    assert middles[0] == 1000
    assert math.isnan(NativeHist().quantile_ns(0.5))
