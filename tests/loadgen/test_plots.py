# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pictures of records: both formats, bands over repeats, readable without colour."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadgen.cli import main
from loadgen.plot.latency import plot_records, points
from loadgen.workload.records import RunRecord, write_json
from loadgen.workload.schemes import SCHEMES
from netclone_host.errors import UserError


def record(scheme: str, load: float, p99_us: float, repeat: int = 0) -> RunRecord:
    return RunRecord(
        source="rack", scheme=scheme, service="exp:25us", jitter="none", load=load,
        offered_rps=load * 1e6, achieved_rps=load * 1e6, sent=1, answered=1, unanswered=0,
        redundant=0, p99_us=p99_us, repeat=repeat,
    )  # fmt: skip


RECORDS = [
    record(scheme, load, base + 10 * repeat, repeat)
    for scheme, base in (("baseline", 140), ("netclone", 60))
    for load in (0.3, 0.1)
    for repeat in range(3)
]


def test_points_are_means_with_an_interval() -> None:
    lines = points(RECORDS, "p99_us")
    assert list(lines) == ["baseline", "netclone"]
    low, high = lines["netclone"]
    assert (low.throughput_rps, high.throughput_rps) == pytest.approx((1e5, 3e5))
    assert low.latency_us == 70
    # Three values 60, 70, 80: t(2) 4.30 x 10 / sqrt(3).
    assert low.half_us == pytest.approx(4.30 * 10 / math.sqrt(3), rel=1e-3)
    assert points(RECORDS[:1], "p99_us")["baseline"][0].half_us == 0


def test_png_svg_and_csv(tmp_path: Path) -> None:
    write_json(tmp_path / "records.json", RECORDS)
    result = CliRunner().invoke(
        main, ["plot", f"{tmp_path}/records.json", "--out", f"{tmp_path}/figure", "--json", "-"]
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "figure.svg").read_text()
    assert "<svg" in svg
    with (tmp_path / "figure.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == len(RECORDS)
    assert {row["scheme"] for row in rows} == {"baseline", "netclone"}
    assert set(json.loads(result.stdout)) == {"baseline", "netclone"}


def test_a_point_with_an_unknown_repeat_is_left_out_and_said_so(tmp_path: Path) -> None:
    """The luckier repeats must not stand for all."""
    records = [replace(RECORDS[0], p99_us=math.nan), *RECORDS[1:]]
    assert [p.throughput_rps for p in points(records, "p99_us")["baseline"]] == [1e5]
    write_json(tmp_path / "records.json", records)
    words = ["plot", f"{tmp_path}/records.json", "--out", f"{tmp_path}/figure"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0
    assert "left out: 1 points where requests were lost" in result.stderr


def test_styles_differ_without_colour() -> None:
    looks = [scheme.look for scheme in SCHEMES.values()]
    assert len({look.dashes for look in looks}) == len(looks)
    assert len({look.marker for look in looks}) == len(looks)


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no latency of a record"):
        plot_records(RECORDS, tmp_path / "x", "p42_us")
    silent = [replace(r, p99_us=math.nan) for r in RECORDS]
    with pytest.raises(UserError, match="no record has a p99_us"):
        plot_records(silent, tmp_path / "x")
    with pytest.raises(UserError, match="cannot write"):
        plot_records(RECORDS, tmp_path / "missing" / "x")
    assert list(tmp_path.iterdir()) == []
