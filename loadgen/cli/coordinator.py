# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen coordinator``: the LAEDGE coordinator as a process."""

from __future__ import annotations

from dataclasses import asdict

import click

from loadgen.cli.output import emit_object, writable
from loadgen.cli.stop_signal import until_signal
from loadgen.cli.types import parse_endpoint, parse_netns, seconds
from loadgen.traffic.coordinator import Coordinator
from netclone_host.durations import whole_number


@click.command()
@click.option("--listen", required=True, help="Address and port (default port 1000).")
@click.option(
    "--server",
    "servers",
    multiple=True,
    required=True,
    help="A server; repeat in the order of ids.",
)
@click.option(
    "--slots", default="15", show_default=True, help="Requests at once per server: N or N,N,.."
)
@click.option(
    "--timeout",
    default="5s",
    show_default=True,
    help="An unanswered request then gives its slot back.",
)
@click.option("--netns", help="Network namespace to work in.")
@click.option("--busy", is_flag=True, help="Never sleep; takes a whole core.")
@click.option("--duration", help="End after this.  [default: at SIGINT or SIGTERM]")
@click.option(
    "--json",
    "json_to",
    callback=writable,
    help="Write the counts to this file, - for standard output.",
)
def coordinator(
    listen: str,
    servers: tuple[str, ...],
    slots: str,
    timeout: str,
    netns: str | None,
    busy: bool,
    duration: str | None,
    json_to: str | None,
) -> None:
    """Clone requests to two idle servers, forward to one, queue when there is none (LAEDGE)."""
    namespace = parse_netns(netns)
    per_server = [whole_number(word, 0) for word in slots.split(",")]
    runner = Coordinator(
        parse_endpoint(listen, namespace),
        [parse_endpoint(text) for text in servers],
        slots=per_server[0] if len(per_server) == 1 else per_server,
        timeout_s=seconds(timeout, "--timeout"),
        busy=busy,
    )
    limit = seconds(duration, "--duration") if duration is not None else None
    with until_signal() as wait, runner:
        click.echo(f"coordinating {len(servers)} servers from {runner.endpoint}", err=True)
        wait(limit)
    assert runner.stats is not None
    if json_to:
        emit_object(asdict(runner.stats), json_to)
    else:
        for name, value in asdict(runner.stats).items():
            click.echo(f"{name:20} {value}")
