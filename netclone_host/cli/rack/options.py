# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Options that several verbs of ``rack`` take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from netclone_host import topology as topology_file
from netclone_host.attach.request import Mode
from netclone_host.attach.tables import StateSource
from netclone_host.errors import UserError
from netclone_host.rack.plan import (
    DEFAULT_CLIENTS,
    DEFAULT_SERVERS,
    check_rack_name,
    default_topology,
)
from netclone_host.rack.programs import Options
from netclone_host.topology import DEFAULT_WORKERS, Topology

DEFAULT_RACK = "netclone"
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _checked_name(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    return check_rack_name(value)


def name_option(command: _Command) -> _Command:
    """--name, or NETCLONE_RACK."""
    return click.option(
        "--name",
        "rack",
        envvar="NETCLONE_RACK",
        default=DEFAULT_RACK,
        show_default=True,
        callback=_checked_name,
        help="Name of the rack, also NETCLONE_RACK; its namespaces are NAME-c1 and so on.",
    )(command)


def size_options(command: _Command) -> _Command:
    """--servers, --clients, --workers, --topology: what `chosen_topology` takes."""
    for option in (
        click.option(
            "--topology",
            "topology_path",
            type=click.Path(path_type=Path),
            help="Topology file that describes the rack, instead of the three options above.",
        ),
        click.option(
            "--workers",
            metavar="W[,W...]",
            help=f"Workers per server, or one number for each.  [default: {DEFAULT_WORKERS}]",
        ),
        click.option(
            "--clients",
            "n_clients",
            type=int,
            help=f"Number of clients.  [default: {DEFAULT_CLIENTS}]",
        ),
        click.option(
            "--servers",
            "n_servers",
            type=int,
            help=f"Number of servers.  [default: {DEFAULT_SERVERS}]",
        ),
    ):
        command = option(command)
    return command


def chosen_topology(
    topology_path: Path | None, n_servers: int | None, n_clients: int | None, workers: str | None
) -> Topology:
    """The topology of the file, or the default one of the given size."""
    if topology_path is not None:
        if (n_servers, n_clients, workers) != (None, None, None):
            raise UserError(
                "a topology file already says how many servers, clients and workers there are",
                hint="give either --topology or --servers, --clients and --workers",
            )
        return topology_file.load(topology_path)
    return default_topology(
        DEFAULT_SERVERS if n_servers is None else n_servers,
        DEFAULT_CLIENTS if n_clients is None else n_clients,
        _parsed_workers(workers),
    )


def _parsed_workers(text: str | None) -> int | tuple[int, ...]:
    if text is None:
        return DEFAULT_WORKERS
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(1 <= n <= topology_file.MAX_WORKERS for n in numbers):
        raise UserError(
            f"--workers {text} is not a number of workers",
            hint="give one number, or one for each server: --workers 15,15,8,8",
        )
    return numbers[0] if len(numbers) == 1 else numbers


def attach_options(command: _Command) -> _Command:
    """--mode, --loader, --state: what `chosen_attach` takes."""
    for option in (
        click.option(
            "--state",
            type=click.Choice(["inflight", "app"]),
            default="inflight",
            show_default=True,
            help="Who knows the length of a server's queue: its program, or the application.",
        ),
        click.option(
            "--loader",
            type=click.Choice(["auto", "libbpf", "bcc"]),
            default="auto",
            show_default=True,
            help="What loads the programs.",
        ),
        click.option(
            "--mode",
            type=click.Choice(["auto", "native", "generic"]),
            default="auto",
            show_default=True,
            help="How XDP programs are attached.",
        ),
    ):
        command = option(command)
    return command


def chosen_attach(mode: str, loader: str, state: str) -> Options:
    """Options for every program of the rack."""
    return Options(Mode(mode), loader, StateSource[state.upper()])
