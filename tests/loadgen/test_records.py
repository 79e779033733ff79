# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Result files: round trip, what pandas and JSON can read, nothing half-written."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from loadgen.workload.records import RunRecord, read_json, write_csv, write_json
from loadgen.workload.user_files import atomic_file
from netclone_host.errors import UserError


def a_record(**changes: object) -> RunRecord:
    values: dict[str, object] = {
        "source": "rack", "scheme": "netclone", "service": "exp:25us", "jitter": "0.01x15",
        "load": 0.3, "offered_rps": 1e6, "achieved_rps": 1e6, "sent": 100, "answered": 98,
        "unanswered": 2, "redundant": 49, "cloned": 50, "p99_us": 63.5, "counters": {"a.b": 1},
    }  # fmt: skip
    return RunRecord(**(values | changes))  # type: ignore[arg-type]


def test_round_trip(tmp_path: Path) -> None:
    write_json(tmp_path / "r.json", [a_record()])
    (row,) = json.loads((tmp_path / "r.json").read_text())
    assert row["p50_us"] is None
    (back,) = read_json(tmp_path / "r.json")
    assert math.isnan(back.p50_us)
    assert (back.p99_us, back.counters, back.clone_rate) == (63.5, {"a.b": 1}, 0.5)
    assert back.redundant_share == 0.5


def test_csv_has_a_heading_and_empty_cells_for_missing_values(tmp_path: Path) -> None:
    write_csv(tmp_path / "r.csv", [a_record(), a_record(scheme="baseline")])
    with (tmp_path / "r.csv").open() as f:
        rows = list(csv.DictReader(f))
    assert [r["scheme"] for r in rows] == ["netclone", "baseline"]
    assert rows[0]["p50_us"] == ""
    assert float(rows[0]["p99_us"]) == 63.5


@pytest.mark.parametrize("text", ["{}", "[1]", '[{"strange": 1}]', '[{"scheme": "x"}]', "]"])
def test_foreign_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(UserError):
        read_json(tmp_path / "r.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("load", "0.3"), ("sent", None), ("sent", 1.5), ("sent", True), ("p99_us", [1]),
        ("scheme", 3), ("counters", [1]), ("counters", {"a.b": "many"}), ("kept_schedule", 1),
        ("half_widths", {"p99_us": "wide"}),
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_named(tmp_path: Path, name: str, value: object) -> None:
    write_json(tmp_path / "r.json", [a_record()])
    (row,) = json.loads((tmp_path / "r.json").read_text())
    (tmp_path / "r.json").write_text(json.dumps([row | {name: value}]))
    with pytest.raises(UserError, match=f"as its '{name}'"):
        read_json(tmp_path / "r.json")


def test_a_value_that_is_missing_stays_missing(tmp_path: Path) -> None:
    write_json(tmp_path / "r.json", [a_record(half_widths={"p99_us": math.nan, "p50_us": 1})])
    (back,) = read_json(tmp_path / "r.json")
    assert math.isnan(back.half_widths["p99_us"])
    assert back.half_widths["p50_us"] == 1


def test_a_full_disk_leaves_the_old_file() -> None:
    with pytest.raises(UserError, match="cannot write"), atomic_file(Path("/dev/full/x")):
        pass


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    target.write_text("old")

    def interrupted() -> None:
        with atomic_file(target) as out:
            out.write("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match="No space left on device"):
        interrupted()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
