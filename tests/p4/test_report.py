# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The TNA program under the compiler, and how its reports are read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.p4.conftest import Build
from tests.p4.report_module import parser_states, report

TOFINO_1_STAGES = 12


def stage(number: int, srams: int, functions: int, exact: int, alus: int) -> dict[str, object]:
    return {
        "stage_number": number,
        "rams": {"srams": [{}] * srams},
        "tcams": {"tcams": [{}]},
        "xbar_bytes": {"bytes": [{"byte_type": "exact"}] * exact + [{"byte_type": "ternary"}] * 3},
        "hash_bits": {"bits": [{"hash_function": n % functions} for n in range(20)]},
        "meter_alus": {"meters": [{}] * alus},
        "logical_tables": {"ids": [{}, {}] if alus else []},
    }


def test_usage_is_averaged_over_the_ingress_stages(tmp_path: Path) -> None:
    logs = tmp_path / "pipe" / "logs"
    logs.mkdir(parents=True)
    stages = [stage(0, 40, 4, 64, 2), stage(1, 0, 2, 0, 1), stage(2, 0, 1, 0, 0)]
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


PARSER = """
parser ingress:
  states:
    start:
      *:
        next: ethernet
    ethernet:
      match: [ half ]
      0x0800:
        next: ipv4
      0x86dd:
        next: ipv6
      0x****:
        next: end
    ipv4:
      match: [ byte1 ]
      0o2**:
        next: udp
      0b****0110:
        next: tcp
deparser ingress:
  nothing: here
parser egress:
    blind:
      match: [ half ]
      0x****:
      0x****:
"""


def test_parser_that_looks_is_in_order() -> None:
    assert [state.name for state in parser_states.ingress_states(PARSER)] == ["ethernet", "ipv4"]
    assert parser_states.fault(PARSER) == ""


def blinded(assembly: str) -> str:
    """What the compiler's fault makes of it."""
    return re.sub(
        r"^(      0[xbo])([0-9a-f*]+):",
        lambda row: f"{row[1]}{'*' * len(row[2])}:",
        assembly,
        flags=re.MULTILINE,
    )


def test_parser_that_tells_nothing_apart_is_found() -> None:
    assert "2 of 2 parser states match wildcards only" in parser_states.fault(blinded(PARSER))
    half = PARSER.replace("0o2**", "0o***").replace("0b****0110", "0b********")
    assert "1 of 2 parser states match wildcards only (ipv4)" in parser_states.fault(half)
    assert "ether type of IPv4" in parser_states.fault(PARSER.replace("0x0800", "0x0900"))


def test_program_fits_the_stages_of_the_paper(tofino_build: Path) -> None:
    assert (tofino_build / "pipe" / "tofino.bin").stat().st_size > 0
    assert report.read_usage(tofino_build).stages <= report.PAPER_STAGES


def test_parser_states_match_values(tofino_build: Path) -> None:
    """A compiler that turns select values into wildcards would let everything through."""
    assembly = (tofino_build / "pipe" / "netclone.bfa").read_text()
    assert parser_states.fault(assembly) == ""
    assert parser_states.fault(blinded(assembly))
    states = {state.name for state in parser_states.ingress_states(assembly)}
    for name in ("ipv4", "ipv6", "udp", "tcp_over_ipv4", "vlan_outer", "vlan_inner"):
        assert any(name in state for state in states), name


@pytest.mark.parametrize("variant", sorted(set(report.VARIANTS) - {"default"}))
def test_options_compile(tofino_builds: Build, variant: str) -> None:
    directory = tofino_builds(variant)
    assembly = (directory / "pipe" / "netclone.bfa").read_text()
    assert parser_states.fault(assembly) == ""
    assert (directory / "pipe" / "tofino.bin").stat().st_size > 0
    assert report.read_usage(directory).stages <= TOFINO_1_STAGES
