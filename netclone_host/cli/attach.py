# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host attach``."""

from __future__ import annotations

from pathlib import Path

import click

from netclone_host import topology as topology_file
from netclone_host.attach import attach as api
from netclone_host.attach import loaders
from netclone_host.attach.attach import AttachRequest, AttachResult, Mode
from netclone_host.attach.roles import Role
from netclone_host.attach.tables import StateSource
from netclone_host.cli.usage import refuse
from netclone_host.durations import UNITS_NS, parse_duration_ns
from netclone_host.errors import UserError

# Parameters that do not apply to every role. (A switch accepts the number of servers, as a check of
# its topology.)
_ROLES = {
    "server_id": (Role.SERVER,),
    "workers": (Role.SERVER,),
    "state": (Role.SERVER,),
    "request_timeout_ns": (Role.SERVER,),
    "servers": (Role.CLIENT, Role.SWITCH),
    "server_timeout_ms": (Role.SWITCH,),
}


def _request_timeout_ns(_ctx: click.Context, _param: click.Parameter, value: str) -> int:
    try:
        return round(parse_duration_ns(value, "--request-timeout"))
    except UserError as error:
        raise UserError(
            error.message,
            hint=f"write it as 1s, from 10ms to 60min (units: {', '.join(UNITS_NS)})",
        ) from None


@click.command()
@click.argument("ifnames", metavar="IFACE...", nargs=-1, required=True)
@click.option("--role", type=click.Choice([role.value for role in Role]), required=True)
@click.option("--server-id", type=int, metavar="N", help="A server's id, 0 to 255.")
@click.option("--workers", type=int, metavar="N", help="Requests the server works on at once.")
@click.option("--servers", type=int, metavar="N", help="Servers of the rack (client).")
@click.option(
    "--state",
    type=click.Choice([source.name.lower() for source in StateSource]),
    default="inflight",
    show_default=True,
    help="Queue length: counted in the kernel, or written by the application.",
)
@click.option("--port", "ports", type=int, multiple=True, metavar="P", help="UDP port  [1000]")
@click.option(
    "--mode", type=click.Choice([mode.value for mode in Mode]), default="auto", show_default=True
)
@click.option("--topology", "topology_path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--loader", type=click.Choice(loaders.NAMES), default="auto", show_default=True)
@click.option("--force", is_flag=True, help="Replace an XDP program that is attached already.")
@click.option(
    "--request-timeout",
    "request_timeout_ns",
    callback=_request_timeout_ns,
    default="1s",
    show_default=True,
    metavar="TIME",
    help="When an unanswered request is forgotten (server).",
)
@click.option(
    "--server-timeout",
    "server_timeout_ms",
    type=int,
    metavar="MS",
    help="When a server that leaves requests unanswered is considered failed (switch).",
)
def attach(
    ifnames: tuple[str, ...],
    role: str,
    server_id: int | None,
    workers: int | None,
    servers: int | None,
    state: str,
    ports: tuple[int, ...],
    mode: str,
    topology_path: Path | None,
    loader: str,
    force: bool,
    request_timeout_ns: int,
    server_timeout_ms: int | None,
) -> None:
    """Attach NetClone to IFACE. A switch takes all of its ports in one command.

    \b
    netclone-host attach eth0 --role server --server-id 3 --workers 15
    netclone-host attach eth0 --role client --servers 6
    netclone-host attach p1 p2 p3 --role switch --topology rack.toml
    """
    for name, roles in _ROLES.items():
        if Role(role) not in roles:
            refuse(
                [name],
                f"does not apply to role {role}",
                f"omit it; it is for role {' or '.join(roles)}",
            )
    result = api.attach(
        AttachRequest(
            ifnames=ifnames,
            role=Role(role),
            server_id=server_id,
            workers=workers,
            servers=servers,
            state=StateSource[state.upper()],
            ports=ports or None,
            mode=Mode(mode),
            topology=topology_file.load(topology_path) if topology_path else None,
            loader=loader,
            force=force,
            request_timeout_ns=request_timeout_ns,
            server_timeout_ms=server_timeout_ms,
        )
    )
    report(result)


def report(result: AttachResult) -> None:
    """Print what was done, and what the user should know about it."""
    attachment = result.attachment
    click.echo(
        f"attached {attachment.role} to {', '.join(attachment.ifnames)}: {attachment.mode} XDP, "
        f"{attachment.loader}, {result.elapsed_ns / 1e6:.0f} ms"
    )
    if attachment.reason:
        click.echo(f"note: native XDP is not available on {attachment.reason}", err=True)
    if attachment.settings.get("state") == "app":
        click.echo(f"queue length: {result.pin_dir}/nc_app_state")
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
