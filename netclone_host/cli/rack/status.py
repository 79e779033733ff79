# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host rack status``: what a rack consists of."""

from __future__ import annotations

import json

import click

from netclone_host.cli.rack.options import name_option
from netclone_host.rack.status import describe


@click.command("status")
@name_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def status(rack: str, as_json: bool) -> None:
    """Show the nodes of a rack: addresses, switch ports, programs, processes."""
    description = describe(rack)
    if as_json:
        click.echo(json.dumps(description, indent=2))
        return
    click.echo(f"rack '{rack}' is {description['state']}")
    for node in description["nodes"]:
        programs = f"{node['mode']} XDP" if node["attached"] else "no program"
        addresses = " ".join(address for address in (node["ip4"], node["ip6"]) if address)
        processes = f"  processes {node['processes']}" if node["processes"] else ""
        click.echo(f"{node['name']:<4}  {node['role']:<6}  {programs}  {addresses}{processes}")
