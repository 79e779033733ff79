# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host rack``: the software rack."""

from __future__ import annotations

import click

from netclone_host.cli import LazyGroup

VERBS = {
    "up": "netclone_host.cli.rack.up",
    "exec": "netclone_host.cli.rack.exec",
    "run": "netclone_host.cli.rack.run",
    "status": "netclone_host.cli.rack.status",
    "list": "netclone_host.cli.rack.list",
    "down": "netclone_host.cli.rack.down",
}


@click.group(cls=LazyGroup, verbs=VERBS)
def rack() -> None:
    """A rack of namespaces: clients c1.., servers s1.. and the switch sw.

    Build it with "up", run any program in it with "exec", measure with "run", and remove
    it with "down". Racks of different names (--name) coexist.
    """
