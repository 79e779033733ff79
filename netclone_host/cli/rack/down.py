# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host rack down``: remove a rack."""

from __future__ import annotations

import click

from netclone_host.cli.rack.options import name_option
from netclone_host.rack import build


@click.command()
@name_option
def down(rack: str) -> None:
    """Remove the rack, even one that a crash left half built, and nothing else."""
    left = build.down(rack)
    if left is None:
        click.echo(f"rack '{rack}' is not up")
        return
    for namespace in left.namespaces:
        click.echo(f"left alone: namespace {namespace}, which is not this rack's", err=True)
    for namespace, processes in left.processes.items():
        ids = ", ".join(map(str, processes))
        click.echo(f"still running in {namespace}, without links now: process {ids}", err=True)
    click.echo(f"rack '{rack}' is down")
