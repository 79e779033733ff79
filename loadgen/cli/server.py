# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen server``: one server with emulated services."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from loadgen.cli.io_options import io_options, take_io
from loadgen.cli.output import emit_object, writable
from loadgen.cli.stop_signal import until_signal
from loadgen.cli.types import parse_endpoint, parse_netns, positive, seconds
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.traffic.worker_threads import SpinServer
from loadgen.workload.services import parse_workload
from netclone_host.cli.usage import refuse
from netclone_host.errors import UserError


@click.command()
@click.option("--listen", required=True, help="Address and port (default port 1000).")
@click.option("--server-id", type=click.IntRange(0, 255), default=0, show_default=True)
@click.option("--workers", type=click.IntRange(1, 65535), default=15, show_default=True)
@click.option("--service", default="exp:25us", show_default=True, help="Service times.")
@click.option("--jitter", default="none", show_default=True, help="PxM: P of them M times as long.")
@click.option(
    "--mode",
    type=click.Choice(["virtual", "spin"]),
    default="virtual",
    show_default=True,
    help="virtual: services pass by timers; spin: worker threads that keep a core busy.",
)
@click.option(
    "--time-scale", type=float, default=1.0, show_default=True, help="Stretches services."
)
@click.option(
    "--stamp", is_flag=True, help="Do the part of the server program: write SID and STATE."
)
@click.option("--busy", is_flag=True, help="Never sleep; takes a whole core.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--netns", help="Network namespace to work in.")
@io_options
@click.option("--duration", help="End after this.  [default: at SIGINT or SIGTERM]")
@click.option(
    "--json",
    "json_to",
    callback=writable,
    help="Write the counts to this file, - for standard output.",
)
def server(
    listen: str,
    server_id: int,
    workers: int,
    service: str,
    jitter: str,
    mode: str,
    time_scale: float,
    stamp: bool,
    busy: bool,
    seed: int,
    netns: str | None,
    duration: str | None,
    json_to: str | None,
    **io_arguments: Any,
) -> None:
    """Answer requests after a service time, with a FCFS queue and workers."""
    io = take_io(io_arguments)
    workload = parse_workload(service, jitter)
    limit = seconds(duration, "--duration") if duration is not None else None
    node = VirtualServer(
        parse_endpoint(listen, parse_netns(netns)), server_id, workers, stamp=stamp
    )
    scale = positive(time_scale, "--time-scale")
    if io.is_xdp:
        refuse(
            ["stamp"],
            "is implied by --io af_xdp, whose frames pass no server program",
            "omit it",
        )
    runner: VirtualServers | SpinServer
    if mode == "spin":
        if io.is_xdp:
            raise UserError("spinning workers use sockets", "use --io socket, or --mode virtual")
        runner = SpinServer(node, workload, time_scale=scale, seed=seed, busy=busy)
    else:
        runner = VirtualServers([node], workload, time_scale=scale, seed=seed, busy=busy, io=io)
    with until_signal() as wait, runner:
        click.echo(f"server {server_id} answers at {node.endpoint}", err=True)
        wait(limit)
    counts = asdict(runner.stats[0])
    if json_to:
        emit_object(counts, json_to)
    else:
        for name, value in counts.items():
            click.echo(f"{name:16} {value}")
