# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Figures at a small number of requests: files that hold what they should."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadgen.cli import main
from loadgen.figures import FIGURES, Settings, write
from loadgen.sim.run import run_points

PNG = b"\x89PNG\r\n\x1a\n"
# The others take the same way with more points; `make bench` is not the place, but a full
# `netclone-loadgen figure all` draws them.
SMALL = ("latency", "filter-tables", "switch-failure", "redundancy", "key-value")


@pytest.mark.parametrize("name", SMALL)
def test_a_figure_is_a_png_a_csv_and_a_table(name: str, tmp_path: Path) -> None:
    settings = Settings(partial(run_points, processes=1), requests=4000, replications=2)
    made = FIGURES[name](settings)
    png, table, text = write(made, tmp_path)
    assert png.read_bytes().startswith(PNG) and png.stat().st_size > 10_000
    rows = list(csv.DictReader(table.open()))
    assert len(rows) == len(made.rows) > 10
    assert "the paper says | measured here" in text.read_text()
    assert all(claim.paper and claim.here for claim in made.claims)


def test_a_figure_is_the_same_to_the_byte(tmp_path: Path) -> None:
    for out in ("a", "b"):
        settings = Settings(partial(run_points, processes=1), requests=4000, replications=2)
        (tmp_path / out).mkdir()
        write(FIGURES["filter-tables"](settings), tmp_path / out)
    for kind in ("png", "csv", "md"):
        name = f"filter-tables.{kind}"
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("figure", "nonsense", "--out", "x"), "unknown figure"),
        (("figure", "latency", "--out", "/proc/nowhere"), "cannot make"),
        (("figure", "latency", "--out", "x", "--requests", "1"), "--requests"),
    ],
)
def test_errors_are_a_sentence(
    arguments: tuple[str, ...], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 2
    assert word in result.output and "hint:" in result.output
    assert not list(tmp_path.iterdir())
