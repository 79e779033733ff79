# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host detach``."""

from __future__ import annotations

import click

from netclone_host.attach import detach as api
from netclone_host.errors import UserError


@click.command()
@click.argument("ifname", metavar="[IFACE]", required=False)
@click.option("--gone", is_flag=True, help="Clear what deleted interfaces have left behind.")
def detach(ifname: str | None, gone: bool) -> None:
    """Take NetClone off IFACE, also after an attach that died half-way.

    A switch leaves all of its ports: with one of them missing it could not filter the
    responses that arrive there. What others attached stays.

    --gone, without IFACE, clears pins and journals of deleted interfaces in all network
    namespaces, deleted ones included, and pins without a journal.
    """
    if (ifname is None) == (not gone):
        raise UserError(
            "detach takes either an interface or --gone",
            hint="'netclone-host status --all' lists where NetClone is attached",
        )
    if ifname is None:
        for cleared in api.detach_gone():
            names = ", ".join(cleared.ifnames)
            what = cleared.role or "remains"
            click.echo(f"cleared {what} of {names}, net {cleared.netns_inode}")
        return
    detached = api.detach(ifname)
    click.echo(f"detached {detached.role or 'what was left'} from {', '.join(detached.ifnames)}")
    if not detached.had_journal:
        click.echo("note: without a journal, a clsact qdisc stays", err=True)
