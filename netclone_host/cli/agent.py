# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host agent``."""

from __future__ import annotations

import click

from netclone_host.control.xdp import port_agent
from netclone_host.control.xdp.attached import attached_switch
from netclone_host.kernel import privilege


@click.command()
@click.argument("ifnames", metavar="[IFACE]...", nargs=-1)
def agent(ifnames: tuple[str, ...]) -> None:
    """Take servers out of use while their port of the switch is down or has no carrier.

    Stays in the foreground and follows the switches that have IFACE as a port, or all of this
    network namespace. It may be killed and started again at any time.
    """
    privilege.require()
    for ifname in ifnames:
        attached_switch(ifname, "IFACE")
    for sentence in port_agent.follow(ifnames):
        click.echo(sentence)
