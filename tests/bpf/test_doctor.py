# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""doctor tries things; what it cannot do is named with a hint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from netclone_host.attach import requirements
from netclone_host.cli import main
from netclone_host.kernel import netns


def test_a_machine_that_runs_these_tests_has_all_that_is_needed(clean_slate: None) -> None:
    result = CliRunner().invoke(main, ["doctor", "--json"])
    findings = {entry["name"]: entry for entry in json.loads(result.output)}
    assert [entry for entry in findings.values() if entry["needed"] and not entry["ok"]] == []
    assert result.exit_code == 0
    assert findings["devmap program"]["ok"] and findings["broadcast"]["ok"]


def test_what_is_missing_has_a_hint(
    clean_slate: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("NETCLONE_BPFFS", str(tmp_path))
        result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert f"missing bpffs           not mounted at {tmp_path}" in result.output
    assert "hint: mount -t bpf bpf /sys/fs/bpf" in result.output


def test_it_leaves_nothing_behind(clean_slate: None) -> None:
    requirements.examine()  # opens what stays open: libraries
    before, descriptors = netns.current(), open_files()
    requirements.examine()
    assert netns.current() == before
    assert len(open_files()) <= len(descriptors)


def open_files() -> list[Path]:
    return list(Path("/proc/self/fd").iterdir())
