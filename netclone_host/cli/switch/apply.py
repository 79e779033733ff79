# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host switch apply``: topology file -> tables of an XDP, BMv2 or Tofino switch."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

import click

from netclone_host.attach import journal
from netclone_host.control.backend import apply as bring_to
from netclone_host.control.entries import Changes, Plan, difference
from netclone_host.control.targets import TargetName, connect, plan_for
from netclone_host.topology import Topology, load


@click.command()
@click.argument("topology_file", metavar="TOPOLOGY", type=click.Path(path_type=Path))
@click.option(
    "--target",
    type=click.Choice([name.value for name in TargetName]),
    required=True,
    help="What the switch is.",
)
@click.option(
    "--address",
    help="An interface of it (xdp), its Thrift port (bmv2), or its gRPC address (tofino).",
)
@click.option(
    "--without-server",
    "failed",
    type=int,
    multiple=True,
    metavar="ID",
    help="Ignore this server of the file, because it has failed.",
)
@click.option("--dry-run", is_flag=True, help="Print all entries; needs no switch.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def apply(
    topology_file: Path,
    target: str,
    address: str | None,
    failed: tuple[int, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Bring a switch to TOPOLOGY: entries, multicast groups, registers.

    Only differences are written: a second run changes nothing. Without a server, the groups are
    renumbered; tell the clients the new number of servers.
    """
    topology = without(load(topology_file), failed)
    name = TargetName(target)
    desired = plan_for(name, topology)
    if dry_run:
        changes = difference(Plan(), desired)
    else:
        with journal.locked() if name is TargetName.XDP else contextlib.nullcontext():
            changes = bring_to(connect(name, address), desired)
    if as_json:
        click.echo(json.dumps(_record(changes, topology), indent=1))
        return
    for line in changes.lines():
        click.echo(line)
    verb = "would be written" if dry_run else "written"
    click.echo(f"{len(changes)} changes {verb}, {topology.n_groups} groups")


def without(topology: Topology, failed: tuple[int, ...]) -> Topology:
    """The topology without these servers. UserError if they are not in it, or if fewer than two
    are left."""
    for server_id in failed:
        topology.server(server_id)
    servers = tuple(server for server in topology.servers if server.id not in failed)
    return dataclasses.replace(topology, servers=servers)


def _record(changes: Changes, topology: Topology) -> dict[str, Any]:
    def entries(written: Any) -> list[dict[str, Any]]:
        return [
            {
                "table": key.table,
                "match": dict(key.match),
                "action": action.name,
                "params": dict(action.params),
            }
            for key, action in written.items()
        ]

    return {
        "n_groups": topology.n_groups,
        "insert": entries(changes.insert),
        "modify": entries(changes.modify),
        "delete": [{"table": key.table, "match": dict(key.match)} for key in changes.delete],
        "multicast": {
            group: [dataclasses.asdict(replica) for replica in replicas]
            for group, replicas in changes.multicast.items()
        },
        "delete_multicast": list(changes.delete_multicast),
    }
