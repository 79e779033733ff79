# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host rack list``: the racks of this machine."""

from __future__ import annotations

import json

import click

from netclone_host.rack import status


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list(as_json: bool) -> None:
    """List the racks that are up, or that a crash left behind."""
    racks = status.all_racks()
    if as_json:
        click.echo(json.dumps(racks, indent=2))
        return
    for entry in racks:
        click.echo(f"{entry['name']}  {entry['state']}  {entry['namespaces']} namespaces")
