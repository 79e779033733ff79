# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The P4 program in simple_switch, on the corpus: packet by packet, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from netclone_host.control.p4.bmv2_cli import RuntimeCli
from tests.conformance.playing import play
from tests.conformance.scenario import Scenario, corpus
from tests.p4 import bmv2, scenario_plan, tools
from tests.p4.nanomsg import PacketPort

# The compiler comes first, and an unoptimised one takes its time.
pytestmark = pytest.mark.timeout(1200)


def beyond_the_program(scenario: Scenario) -> str:
    """Why a P4 switch does not have this rule; empty if it has."""
    if scenario.config["server_timeout_ms"]:
        return "failure detection: the control plane takes failed servers out"
    if scenario.config["generic"]:
        return "generic mode is XDP's"
    if scenario.config.get("reserve"):
        return "the reserve rule is not in the P4 programs"
    if "filter_slots" in scenario.config:
        return "filter tables are played in the size that is compiled in"
    if scenario.config.get("hold"):
        return "a P4 switch needs no hold: a copy leaves by its server's port, not by its group's"
    if scenario.name.startswith("retransmitted-"):
        return "the P4 programs do not count attempts"
    if scenario.name == "response-zero-ipv6-comes-to-0":
        return "simple_switch writes a sum that it computes in full and that comes to 0 as 0"
    if scenario.name.startswith("udp-partial-padded"):
        return "simple_switch sums whatever follows the headers, padding too"
    return ""


SWITCH_SCENARIOS = [scenario for scenario in corpus() if scenario.role == "switch"]
SCENARIOS = [scenario for scenario in SWITCH_SCENARIOS if not beyond_the_program(scenario)]


def test_nearly_all_of_the_corpus_is_played() -> None:
    """All but what `beyond_the_program` names."""
    assert len(SCENARIOS) >= 300


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bmv2.Bmv2Target]:
    tools.require("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")
    directory = tmp_path_factory.mktemp("bmv2")
    program = bmv2.compile_program(
        directory / "netclone.json", f"-DNETCLONE_FILTER_TABLES={scenario_plan.FILTER_TABLES}"
    )
    address = f"ipc://{directory}/packets.ipc"
    with (
        bmv2.running(program, directory, f"--packet-in={address}") as port,
        RuntimeCli(port) as cli,
    ):
        packets = PacketPort(address)
        yield bmv2.Bmv2Target(cli, packets)
        packets.close()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_bmv2(target: bmv2.Bmv2Target, scenario: Scenario) -> None:
    play(target, scenario)
