# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host rack up``: build a rack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from netclone_host.cli.rack.options import (
    attach_options,
    chosen_attach,
    chosen_topology,
    name_option,
    size_options,
)
from netclone_host.rack import build
from netclone_host.rack.plan import make_plan


@click.command()
@name_option
@size_options
@attach_options
@click.option("--racks", "n_racks", default=1, show_default=True, help="1, or 2 joined by a trunk.")
@click.option(
    "--switch",
    type=click.Choice(["xdp", "bmv2"]),
    default="xdp",
    show_default=True,
    help="The switch: XDP programs, or the P4 program in BMv2's simple_switch.",
)
@click.option("--no-attach", is_flag=True, help="Build the namespaces only.")
def up(
    rack: str,
    topology_path: Path | None,
    n_servers: int | None,
    n_clients: int | None,
    workers: str | None,
    mode: str,
    loader: str,
    state: str,
    n_racks: int,
    switch: str,
    no_attach: bool,
) -> None:
    """Build a rack and attach the switch, server and client programs.

    Servers are 10.0.1.101 and up, clients 10.0.1.1 and up. The topology that describes
    the rack is written to /run/netclone/rack/NAME/topology.toml.
    """
    topology = chosen_topology(topology_path, n_servers, n_clients, workers)
    plan = make_plan(rack, topology, n_racks)
    options = replace(chosen_attach(mode, loader, state), bmv2=switch == "bmv2")
    build.up(plan, None if no_attach else options)
    names = " ".join(member.name for member in plan.members)
    click.echo(f"rack '{rack}' is up: {names}")
