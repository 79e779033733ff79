# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host status``."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from netclone_host.attach.journal import Attachment
from netclone_host.attach.recovery import Health
from netclone_host.attach.roles import Role
from netclone_host.attach.status import attachments, describe, remains
from netclone_host.cli import print_error
from netclone_host.cli.console import console
from netclone_host.control.xdp import current_settings


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A list of records.")
@click.option("--all", "everywhere", is_flag=True, help="Of every network namespace.")
def status(as_json: bool, everywhere: bool) -> None:
    """List where NetClone is attached, and how it is doing there.

    Health is attached, incomplete (an attach died: detach clears it), stale (the interface
    or its namespace is gone), detached (somebody took a program off), preceded (on egress
    somebody's program runs before ours, and may keep packets from it), unknown (without root,
    or where /sys/fs/bpf is hidden), damaged (its journal cannot be read) or orphaned (it has
    none). Exit status 1 if one is damaged or orphaned.
    """
    lost = remains(everywhere)
    records = [_describe(entry) for entry in attachments(everywhere)]
    records += [_describe(left.attachment, left.cause) for left in lost]
    if as_json:
        click.echo(json.dumps(records, indent=1))
    elif not records:
        click.echo("NetClone is not attached to any interface of this network namespace")
    else:
        _print_table(records, everywhere)
    for left in lost:
        print_error(left.error())
    if lost:
        sys.exit(1)


def _describe(attachment: Attachment, cause: Health | None = None) -> dict[str, Any]:
    record = describe(attachment, cause)
    settings, noticed = current_settings.look(attachment)
    record["settings"] |= settings
    if attachment.role == Role.SWITCH:
        record["cloning_held"] = noticed.cloning_held if noticed else None
        record["unfinished"] = noticed.unfinished if noticed else None
    record["notes"] += noticed.sentences() if noticed else []
    return record


def _print_table(records: list[dict[str, Any]], everywhere: bool) -> None:
    from rich.table import Table

    table = Table("interfaces", "role", "health", "mode", "loader", box=None)
    if everywhere:
        table.add_column("net", overflow="fold")
    table.add_column("settings", overflow="fold")
    for record in records:
        settings = ", ".join(
            f"{name}={value}" for name, value in record["settings"].items() if value is not None
        )
        table.add_row(
            " ".join(record["interfaces"]),
            record["role"] or "-",
            record["health"],
            record["mode"] or "-",
            record["loader"] or "-",
            *((str(record["netns"]),) if everywhere else ()),
            settings,
        )
    out = console()
    out.print(table)
    for record in records:
        for note in record["notes"]:
            out.print(f"{record['interfaces'][0]}: {note}", highlight=False, markup=False)
