# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The samplers in C against the distributions' own formulas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loadgen.native.distribution import native_distribution, native_workload, sample_ns
from loadgen.workload.distributions import Kind, parse_distribution
from loadgen.workload.services import parse_jitter, parse_workload
from netclone_host.errors import UserError

SAMPLES = 400_000

TEXTS = [
    "const:1ms",
    "exp:25us",
    "bimodal:0.9:25us:250us",
    "trimodal:0.7:0.2:10us:100us:1ms",
    "lognormal:0.8:25us",
    "pareto:3.5:25us",
    "weibull:0.7:25us",
    "twopoint:0.01:15:25us",
]


def ks_distance(samples: np.ndarray, cdf: object) -> float:
    """Largest distance between the samples' steps and `cdf`, at both ends of each step."""
    x, counts = np.unique(np.sort(samples), return_counts=True)
    upto = np.cumsum(counts) / len(samples)
    at = cdf(x)  # type: ignore[operator]
    before = cdf(x * (1 - 1e-5))  # type: ignore[operator]
    return float(
        max(np.max(np.abs(at - upto)), np.max(np.abs(before - (upto - counts / len(samples)))))
    )


@pytest.mark.parametrize("text", TEXTS)
def test_samples_follow_the_distribution(text: str) -> None:
    dist = parse_distribution(text)
    samples = sample_ns(native_distribution(dist), SAMPLES, seed=7)
    # 1.95 / sqrt(n) is passed by chance with probability 0.999; the seed is fixed.
    assert ks_distance(samples, dist.cdf) < 1.95 / np.sqrt(SAMPLES) + 1e-4
    assert samples.mean() == pytest.approx(dist.mean_ns, rel=0.02)


@pytest.mark.parametrize("text", [t for t in TEXTS if "pareto" not in t])
def test_variation_is_what_the_formula_says(text: str) -> None:
    dist = parse_distribution(text)
    samples = sample_ns(native_distribution(dist), SAMPLES, seed=8)
    assert samples.var() / samples.mean() ** 2 == pytest.approx(dist.scv, rel=0.05, abs=1e-9)


def test_pareto_scv() -> None:
    assert parse_distribution("pareto:2.5:1us").scv == pytest.approx(1 / (2.5 * 0.5))
    assert parse_distribution("pareto:2:1us").scv == np.inf


def test_jitter_makes_that_share_that_much_longer() -> None:
    workload = parse_workload("const:25us", "0.01x15")
    samples = sample_ns(native_workload(workload), SAMPLES, seed=9)
    assert set(np.unique(samples)) == {25_000.0, 375_000.0}
    assert np.mean(samples > 30_000) == pytest.approx(0.01, rel=0.06)
    assert workload.mean_ns == pytest.approx(28_500)


def test_jitter_in_the_cdf() -> None:
    workload = parse_workload("exp:25us", "0.01x15")
    samples = sample_ns(native_workload(workload), SAMPLES, seed=10)
    assert ks_distance(samples, workload.cdf) < 1.95 / np.sqrt(SAMPLES)


def test_scale_and_reproducibility() -> None:
    dist = parse_distribution("exp:25us")
    one = sample_ns(native_distribution(dist), 1000, seed=1, stream=3)
    again = sample_ns(native_distribution(dist), 1000, seed=1, stream=3)
    other = sample_ns(native_distribution(dist), 1000, seed=1, stream=4)
    stretched = sample_ns(native_distribution(dist, scale=200), 1000, seed=1, stream=3)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert stretched == pytest.approx(one * 200)


def test_trace_is_played_in_order(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_text("# measured\n10us\n\n20us # slow\n5000ns\n")
    dist = parse_distribution(f"trace:{file}")
    assert dist.kind is Kind.TRACE
    assert dist.mean_ns == pytest.approx(35_000 / 3)
    assert list(sample_ns(native_distribution(dist), 4, seed=1)) == [10_000, 20_000, 5_000, 10_000]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("gauss:1us", "unknown kind 'gauss'"),
        ("exp:25", "part 1 (mean): '25' has no unit"),
        ("exp:25parsec", "unknown unit 'parsec'"),
        ("exp:-1us", "part 1 (mean)"),
        ("exp", "takes 1 parts, got 0"),
        ("bimodal:0.9:25us", "takes 3 parts, got 2"),
        ("bimodal:1.9:25us:250us", "part 1 (probability of the first): '1.9'"),
        ("bimodal:0.9:25us:x", "part 3 (second): 'x'"),
        ("trimodal:0.9:0.2:1us:2us:3us", "add up to more than 1"),
        ("pareto:1:25us", "no finite mean"),
        ("pareto:nan:25us", "part 1 (shape): 'nan'"),
        ("weibull:0:25us", "part 1 (shape): '0'"),
        ("trace:", "no file named"),
        ("trace:/does/not/exist", "cannot read '/does/not/exist'"),
    ],
)
def test_errors_name_the_part(text: str, part: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_distribution(text)
    assert part in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("text", ["0.01", "2x15", "0.01x", "ax15", "0.01xinf"])
def test_wrong_jitter(text: str) -> None:
    with pytest.raises(UserError, match="jitter"):
        parse_jitter(text)


def test_trace_errors_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_text("10us\n7\n")
    with pytest.raises(UserError, match="line 2: '7' has no unit"):
        parse_distribution(f"trace:{file}")
    file.write_text("\n")
    with pytest.raises(UserError, match="no durations"):
        parse_distribution(f"trace:{file}")
