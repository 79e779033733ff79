# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host switch set``."""

from __future__ import annotations

import click

from netclone_host.cli.switch.target import changing_switches, inside, target_of, target_options
from netclone_host.control.xdp.members import unfinished
from netclone_host.errors import UserError
from netclone_host.topology import check_server_timeout


@click.command(name="set")
@target_options
@click.option(
    "--racksched/--no-racksched",
    default=None,
    help="Choose the shorter queue, or the first candidate.",
)
@click.option(
    "--server-timeout", "timeout_ms", type=int, help="In ms; 0 disables failure detection."
)
def set_(
    rack: str | None, port: str | None, racksched: bool | None, timeout_ms: int | None
) -> None:
    """Change settings of a running switch, from the next packet on."""
    if racksched is None and timeout_ms is None:
        raise UserError(
            "nothing to set", hint="give --racksched, --no-racksched or --server-timeout MS"
        )
    if timeout_ms is not None:
        check_server_timeout(timeout_ms)
    timeout_ns = None if timeout_ms is None else timeout_ms * 1_000_000
    with changing_switches(target_of(rack, port)) as switches:
        for namespace, switch in switches:
            with inside(namespace):
                was_unfinished = unfinished(switch.tables())
                tables = switch.set(racksched=racksched, server_timeout_ns=timeout_ns)
            if was_unfinished:
                servers = ", ".join(map(str, sorted(tables.servers)))
                click.echo(
                    "note: a change of the servers had been killed, and is settled now: the "
                    f"servers are {servers}",
                    err=True,
                )
