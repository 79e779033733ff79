# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Options that `client` and `server` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from loadgen.traffic.af_xdp import XdpMode
from loadgen.traffic.io import IoOptions
from netclone_host.cli.usage import refuse

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--io",
        "io_kind",
        type=click.Choice(["socket", "af_xdp"]),
        default="socket",
        show_default=True,
        help="Back end.",
    ),
    click.option("--interface", "ifname", help="af_xdp: the interface, with its role attached."),
    click.option("--queue", type=click.IntRange(0), default=0, help="af_xdp: first queue."),
    click.option("--queues", type=click.IntRange(1, 64), default=1, help="af_xdp: how many."),
    click.option(
        "--xdp-mode",
        type=click.Choice([mode.value for mode in XdpMode]),
        default="auto",
        show_default=True,
        help="af_xdp: zero-copy if the driver can, or one of the two.",
    ),
)


def io_options(command: _Command) -> _Command:
    """Adds the options of the back end."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def take_io(options: dict[str, Any]) -> IoOptions:
    """The back end that its options describe; they are taken out of `options`. `UserError` for
    one that another back end has."""
    kind, queue, queues = options.pop("io_kind"), options.pop("queue"), options.pop("queues")
    ifname, xdp_mode = options.pop("ifname"), XdpMode(options.pop("xdp_mode"))
    if kind == "socket":
        refuse(
            ("ifname", "queue", "queues", "xdp_mode"),
            "applies to frames, and --io socket sends none",
            "add --io af_xdp, or omit it",
        )
    return IoOptions(kind, ifname, queue, queues, xdp_mode)
