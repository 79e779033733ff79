# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A topology file that fits neither the command nor a rack: a sentence, a hint, exit status 2,
and nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .conftest import TOPOLOGY


def test_server_id_not_in_the_topology(
    refused: Callable[..., None], host: str, topology_file: Path
) -> None:
    refused(
        "attach", host, "--role", "server", "--server-id", "7", "--topology", str(topology_file),
        error="the topology has no server with id 7",
        hint="0, 1",
    )  # fmt: skip


def test_server_id_twice_in_the_topology(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    topology_file.write_text(TOPOLOGY.replace("id = 1", "id = 0"))
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
        error="id 0 is used twice",
        hint="of its own",
    )  # fmt: skip


def test_one_server_only_in_the_topology(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    topology_file.write_text(TOPOLOGY.split("[[server]]\nid = 1")[0])
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
        error="a rack needs at least two servers",
        hint="[[server]]",
    )  # fmt: skip


def test_topology_with_an_unknown_key(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    topology_file.write_text("[switch]\nfilter_table = 2\n" + TOPOLOGY)
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
        error="filter_table",
        hint="filter_tables",
    )  # fmt: skip


def test_topology_that_is_not_there(
    refused: Callable[..., None], switch_ports: list[str], tmp_path: Path
) -> None:
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(tmp_path / "none.toml"),
        error="cannot read the topology file",
        hint="TOML",
    )  # fmt: skip


def test_a_topology_file_without_end(refused: Callable[..., None], switch_ports: list[str]) -> None:
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", "/dev/zero",
        error="more than 1 MiB",
        hint="topology file",
    )  # fmt: skip


def test_switch_without_topology(refused: Callable[..., None], switch_ports: list[str]) -> None:
    refused(
        "attach", *switch_ports, "--role", "switch",
        error="a switch needs the rack's topology",
        hint="--topology",
    )  # fmt: skip


def test_server_behind_a_port_that_is_not_attached(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    refused(
        "attach", "p0", "p2", "--role", "switch", "--topology", str(topology_file),
        error="server 1 sits behind port p1",
        hint="by one command",
    )  # fmt: skip


def test_client_behind_a_port_that_is_not_attached(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    client = '[[client]]\nname = "c7"\nip4 = "10.0.1.1"\nmac = "02:00:00:00:01:01"\nport = "p2"\n'
    topology_file.write_text(TOPOLOGY + client)
    refused(
        "attach", "p0", "p1", "--role", "switch", "--topology", str(topology_file),
        error="client c7 sits behind port p2",
        hint="all of the switch's ports",
    )  # fmt: skip
