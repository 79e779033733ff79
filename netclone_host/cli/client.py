# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host client set``: change the number of servers of a running client."""

from __future__ import annotations

import click

from netclone_host.attach import journal, status
from netclone_host.attach.roles import Role
from netclone_host.cli import Group
from netclone_host.control.xdp import live
from netclone_host.errors import UserError
from netclone_host.topology import MAX_SERVERS, MIN_SERVERS


@click.group(cls=Group)
def client() -> None:
    """Change a running client."""


@client.command(name="set")
@click.argument("ifname", metavar="IFACE")
@click.option("--servers", "n_servers", type=int, required=True, help="Servers of the rack.")
def set_(ifname: str, n_servers: int) -> None:
    """Change the number of servers, and so the groups over which requests are spread.

    When you remove a server, tell the clients before the switch; when you add one, after.
    """
    if not MIN_SERVERS <= n_servers <= MAX_SERVERS:
        raise UserError(
            f"{n_servers} servers are out of range",
            hint=f"give {MIN_SERVERS} to {MAX_SERVERS}: a group is a pair of different servers",
        )
    with journal.locked():
        attachment = status.attached_to(ifname)
        if attachment.role != Role.CLIENT:
            raise UserError(
                f"{ifname} is attached as a {attachment.role}, not as a client",
                hint="'netclone-host status' lists roles",
            )
        live.set_client_servers(attachment, n_servers)
    click.echo(f"{ifname}: {n_servers} servers, {n_servers * (n_servers - 1)} groups")
