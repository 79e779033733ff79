# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host switch``: inspect a running switch, and change it under traffic."""

from __future__ import annotations

import click

from netclone_host.cli import LazyGroup

VERBS = {
    "show": "netclone_host.cli.switch.show",
    "add-server": "netclone_host.cli.switch.members",
    "remove-server": "netclone_host.cli.switch.members",
    "set": "netclone_host.cli.switch.set",
    "apply": "netclone_host.cli.switch.apply",
}


@click.group(cls=LazyGroup, verbs=VERBS)
def switch() -> None:
    """Inspect a running switch, and change it under traffic."""
