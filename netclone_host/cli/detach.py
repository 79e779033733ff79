# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host detach``."""

from __future__ import annotations

import click

from netclone_host.bpf import detach as api


@click.command()
@click.argument("ifname", metavar="IFACE")
def detach(ifname: str) -> None:
    """Take NetClone off IFACE, also after an attach that died half-way.

    A switch is taken off all of its ports: with one of them missing it could not filter
    the responses that come in there. What others attached stays.
    """
    attachment = api.detach(ifname)
    click.echo(f"detached {attachment.role} from {', '.join(attachment.ifnames)}")
