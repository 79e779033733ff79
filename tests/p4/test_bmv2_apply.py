# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`switch apply --target bmv2` on a running simple_switch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from netclone_host.cli import main
from netclone_host.control.backend import apply
from netclone_host.control.p4.bmv2 import Bmv2Switch
from netclone_host.control.p4.bmv2_cli import RuntimeCli
from netclone_host.control.p4.plan import BMV2, p4_plan
from netclone_host.topology import Topology, dumps
from tests.p4 import bmv2, tools
from tests.p4.racks import rack


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tools.require("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")
    return bmv2.compile_program(tmp_path_factory.mktemp("program") / "netclone.json")


@pytest.fixture
def port(program: Path, tmp_path: Path) -> Iterator[int]:
    """Thrift port of a switch with empty tables."""
    with bmv2.running(program, tmp_path, f"--packet-in=ipc://{tmp_path}/packets.ipc") as port:
        yield port


def bring(port: int, topology: Topology) -> int:
    with RuntimeCli(port) as cli:
        return len(apply(Bmv2Switch(cli), p4_plan(topology, BMV2)))


@pytest.mark.parametrize("n", [2, 33])
def test_applying_twice_changes_nothing(port: int, n: int) -> None:
    assert bring(port, rack(n)) > n * (n - 1)
    assert bring(port, rack(n)) == 0


def test_256_servers_fit(port: int) -> None:
    assert bring(port, rack(256)) > 256 * 255


def test_a_failed_server_goes_and_comes_back(port: int) -> None:
    full = rack(4)
    bring(port, full)
    smaller = dataclasses.replace(full, servers=full.servers[:1] + full.servers[2:])
    assert 0 < bring(port, smaller) < len(p4_plan(full, BMV2).entries)
    assert bring(port, smaller) == 0
    with RuntimeCli(port) as cli:
        held = Bmv2Switch(cli).read(p4_plan(smaller, BMV2))
    assert len(held.table("SwitchIngress.operands.groups")) == 6
    assert 0x101 not in held.multicast
    assert bring(port, full) > 0
    assert bring(port, full) == 0


def test_only_the_difference_is_written(port: int) -> None:
    bring(port, rack(4))
    assert bring(port, rack(4, racksched=True)) == 1
    moved = dataclasses.replace(rack(4).servers[3], port=9)
    after = dataclasses.replace(rack(4), servers=(*rack(4).servers[:3], moved))
    # two addresses, host, cache; two multicast groups; and RackSched off again
    assert bring(port, after) == 7


def test_the_verb(port: int, tmp_path: Path) -> None:
    path = tmp_path / "rack.toml"
    path.write_text(dumps(rack(2)))
    arguments = ["switch", "apply", str(path), "--target", "bmv2", "--address", str(port)]
    first, second = (CliRunner().invoke(main, arguments) for _ in range(2))
    assert first.exit_code == 0 and "changes written, 2 groups" in first.output
    assert second.output == "0 changes written, 2 groups\n"
