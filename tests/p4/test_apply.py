# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The verb: netclone-host switch apply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from netclone_host.cli import main
from netclone_host.topology import dumps
from tests.p4.racks import rack


@pytest.fixture
def topology(tmp_path: Path) -> str:
    path = tmp_path / "rack.toml"
    path.write_text(dumps(rack(3)))
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["switch", "apply", *arguments])


@pytest.mark.parametrize("target", ["xdp", "bmv2", "tofino"])
def test_dry_run_prints_every_entry_without_a_switch(topology: str, target: str) -> None:
    result = run(topology, "--target", target, "--dry-run")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert sum("groups[grp=" in line for line in lines) == 6
    assert lines[-1] == f"{len(lines) - 1} changes would be written, 6 groups"


@pytest.mark.parametrize("target", ["xdp", "bmv2", "tofino"])
def test_failed_server_is_left_out_in_the_same_way(topology: str, target: str) -> None:
    result = run(topology, "--target", target, "--dry-run", "--json", "--without-server", "1")
    record = json.loads(result.output)
    assert record["n_groups"] == 2
    groups = [e["params"] for e in record["insert"] if e["table"].endswith("groups")]
    assert [(g["first"], g["second"]) for g in groups] == [(0, 2), (2, 0)]


def test_unknown_server_is_refused(topology: str) -> None:
    result = run(topology, "--target", "bmv2", "--dry-run", "--without-server", "9")
    assert result.exit_code == 2
    assert "no server with id 9" in result.output and "hint:" in result.output


@pytest.mark.parametrize(
    ("target", "sentence"),
    [("tofino", "needs the Python module bfrt_grpc"), ("bmv2", "not on the PATH")],
)
def test_missing_switch_is_one_sentence(
    topology: str, target: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    result = run(topology, "--target", target)
    assert result.exit_code == 2
    assert sentence in result.output and "Traceback" not in result.output


def test_bad_thrift_port_is_refused(topology: str) -> None:
    result = run(topology, "--target", "bmv2", "--address", "localhost")
    assert result.exit_code == 2 and "not a Thrift port" in result.output
