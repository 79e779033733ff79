# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The P4 program in simple_switch, on the corpus: packet by packet, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from netclone_host.control.p4.bmv2_cli import RuntimeCli
from tests.conformance.playing import play
from tests.conformance.scenario import Scenario
from tests.p4 import bmv2, scenario_plan, tools
from tests.p4.nanomsg import PacketPort
from tests.p4.scenarios import SCENARIOS

# The compiler comes first, and an unoptimised one takes its time.
pytestmark = pytest.mark.timeout(1200)


def test_nearly_all_of_the_corpus_is_played() -> None:
    """All but what `scenarios.beyond_the_program` names."""
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
