# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The TNA program under the compiler, and how its reports are read."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.p4 import tools
from tests.p4.p4_text import P4


def load_report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("p4_report", P4 / "report.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["p4_report"] = module
    spec.loader.exec_module(module)
    return module


report = load_report()


def stage(srams: int, functions: int, exact: int, alus: int) -> dict[str, object]:
    return {
        "rams": {"srams": [{}] * srams},
        "tcams": {"tcams": [{}]},
        "xbar_bytes": {"bytes": [{"byte_type": "exact"}] * exact + [{"byte_type": "ternary"}] * 3},
        "hash_bits": {"bits": [{"hash_function": n % functions} for n in range(20)]},
        "meter_alus": {"meters": [{}] * alus},
        "logical_tables": {"ids": [{}, {}]},
    }


def test_usage_is_averaged_over_the_ingress_stages(tmp_path: Path) -> None:
    logs = tmp_path / "pipe" / "logs"
    logs.mkdir(parents=True)
    log = "Number of stages for ingress table allocation: 9\nagain\n"
    log += "  Number of stages for ingress table allocation: 2\n"
    (logs / "table_summary.log").write_text(log)
    stages = [stage(40, 4, 64, 2), stage(0, 2, 0, 1), stage(80, 8, 128, 4)]
    (logs / "resources.json").write_text(json.dumps({"resources": {"mau": {"mau_stages": stages}}}))
    usage = report.read_usage(tmp_path)
    assert (usage.stages, usage.tables, usage.srams, usage.stateful_alus) == (2, 4, 40, 3)
    assert usage.percent == {
        "SRAM": 25.0,
        "match crossbar": 25.0,
        "hash units": 37.5,
        "ALUs": 37.5,
    }


def test_missing_compiler_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "")
    assert report.main(["--out", str(tmp_path)]) == 2
    assert "p4c-barefoot is not on the PATH" in capsys.readouterr().err


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tools.require("p4c-barefoot", "bfas")
    directory = tmp_path_factory.mktemp("tna")
    report.assemble(report.compile_program(directory))
    return directory


def test_program_fits_the_stages_of_the_paper(build: Path) -> None:
    assert (build / "tofino.bin").stat().st_size > 0
    assert report.read_usage(build).stages <= report.PAPER_STAGES


def test_parser_states_match_values(build: Path) -> None:
    """A compiler that turns select values into wildcards would let everything through."""
    assembly = (build / "netclone.bfa").read_text()
    parser = assembly[assembly.index("parser ingress:") : assembly.index("deparser ingress:")]
    assert re.search(r"0x0?800\b", parser), "no state matches the ether type of IPv4"
    assert re.search(r"0x86dd\b", parser), "no state matches the ether type of IPv6"
