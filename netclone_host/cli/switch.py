# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host switch``: the tables of a switch, whatever it is made of."""

from __future__ import annotations

import click

from netclone_host.cli import LazyGroup

VERBS = {"apply": "netclone_host.cli.switch_apply"}


@click.group(cls=LazyGroup, verbs=VERBS)
def switch() -> None:
    """Keep a switch's tables in step with a topology file."""
