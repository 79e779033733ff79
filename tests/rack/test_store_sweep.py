# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`netclone-loadgen sweep` over a rack: real stores, and emulated services."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from loadgen.cli import main

STORES = [
    pytest.param(
        app,
        marks=pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is missing"),
    )
    for app, program in (("redis", "redis-server"), ("memcached", "memcached"))
]


def sweep(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["sweep", *arguments])


@pytest.mark.parametrize("app", STORES)
def test_stores_in_the_rack(rack_name: str, tmp_path: Path, app: str) -> None:
    out = tmp_path / "records.json"
    result = sweep(
        "--app", app, "--rack", rack_name, "--servers", "2",
        "--schemes", "baseline,netclone,laedge", "--rates", "300", "--objects", "3000",
        "--mix", "90/10", "--duration", "700ms",
        "--json", f"{out}", "--csv", f"{tmp_path}/r.csv", "--plot", f"{tmp_path}/r",
    )  # fmt: skip
    # 3: a busy machine may send late; everything else is an error.
    assert result.exit_code in (0, 3), result.output
    baseline, netclone, laedge = json.loads(out.read_text())
    for record in (baseline, netclone, laedge):
        assert record["answered"] == record["sent"] > 100
        assert record["app"] == f"{app} 90% GET 10% SCAN"
        assert record["workers"] == 16
    assert baseline["cloned"] == 0
    # What is on its way when the window opens is counted on either side.
    assert 0 < netclone["cloned"] <= netclone["sent"] + 20
    assert 0 < laedge["cloned"] <= laedge["sent"] + 20
    assert (tmp_path / "r.svg").exists()
    assert (tmp_path / "r.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--app", "redis", "--mix", "99/2"], "does not add up to 100"),
        (["--app", "redis", "--mix", "a"], "does not add up to 100"),
        (["--app", "redis", "--server", "127.0.0.1"], "stores run in the software rack"),
        (["--rates", "100"], "are given as loads"),
        (["--rates", "1", "--loads", "1"], "both --loads and --rates"),
        (["--app", "redis", "--loads", "x"], "not a list of numbers"),
        (["--schemes", "magic"], "unknown scheme"),
    ],
)
def test_errors(rack_name: str, arguments: list[str], message: str) -> None:
    result = sweep("--rack", rack_name, *arguments)
    assert result.exit_code == 2
    assert message in result.output
