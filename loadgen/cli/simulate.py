# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen simulate``: every scheme at every load, in simulated time."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from loadgen.cli.output import emit_records, json_option, writable
from loadgen.cli.progress import simulated
from loadgen.cli.simulation_options import processes_option, scheduler_option, seed_option
from loadgen.sim.model import Fault, Model, Point, RequestClass, with_replications
from loadgen.sim.native import FaultKind
from loadgen.sim.run import PointResult
from loadgen.workload.records import write_csv
from loadgen.workload.schemes import SCHEMES
from loadgen.workload.services import parse_workload
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError

OUTAGES = {
    "server": (FaultKind.SERVER_DOWN, FaultKind.SERVER_UP),
    "switch": (FaultKind.SWITCH_DOWN, FaultKind.SWITCH_UP),
    "listing": (FaultKind.SERVER_REMOVED, FaultKind.SERVER_ADDED),
}


def parse_numbers(text: str, what: str) -> list[float]:
    """Numbers of a list separated by commas; raises `UserError`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(
            f"{what}: '{text}' is not a list of numbers", "write it as 0.1,0.5,0.9"
        ) from None


def parse_workers(text: str, servers: int) -> tuple[int, ...]:
    """`15`, or one number for each server (`15,15,15,8,8,8`); raises `UserError`."""
    try:
        workers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UserError(
            f"--workers: '{text}' is not a list of numbers", "write it as 15 or 15,15,8"
        ) from None
    if len(workers) == 1:
        return workers * servers
    if len(workers) != servers:
        raise UserError(
            f"--workers names {len(workers)} servers, --servers {servers}",
            "give one number, or one for each server",
        )
    return workers


def parse_outage(text: str) -> list[Fault]:
    """`server:2@5ms-20ms`: down at the first time, back at the second; raises `UserError`."""
    match = re.fullmatch(r"(\w+):(\d+)@([^-]+)(?:-(.+))?", text)
    if match is None or match[1] not in OUTAGES:
        raise UserError(
            f"--outage: '{text}' is not an outage",
            "write it as server:2@5ms-20ms, switch:0@5ms-20ms or listing:2@6ms-21ms",
        )
    kinds = OUTAGES[match[1]]
    times = [parse_duration_ns(t, "--outage") * 1e-9 for t in match.groups()[2:] if t]
    if times != sorted(times):
        raise UserError(f"--outage: '{text}' ends before it begins", "give the earlier time first")
    return [Fault(at, kind, int(match[2])) for at, kind in zip(times, kinds, strict=False)]


def _duration(name: str, default: str, text: str) -> Callable[[Any], Any]:
    return click.option(
        name,
        default=default,
        show_default=True,
        metavar="TIME",
        help=text,
        callback=lambda _c, _p, value: 0.0 if value == "0" else parse_duration_ns(value, name),
    )


@click.command()
@click.option(
    "--schemes",
    default=",".join(SCHEMES),
    show_default=True,
    metavar="LIST",
    help="Separated by commas.",
)
@click.option("--servers", type=int, default=6, show_default=True)
@click.option(
    "--workers",
    default="15",
    show_default=True,
    help="Workers per server: one number, or one for each.",
)
@click.option(
    "--service",
    default="exp:25us",
    show_default=True,
    metavar="DIST",
    help="Service times: a distribution, or trace:FILE.",
)
@click.option(
    "--jitter",
    default="none",
    show_default=True,
    metavar="PxM",
    help="With probability P a service takes M times as long.",
)
@click.option(
    "--loads",
    default="0.1,0.3,0.5,0.7,0.9",
    show_default=True,
    metavar="LIST",
    help="Shares of the workers' time that one copy of each request takes.",
)
@click.option(
    "--requests",
    type=int,
    default=1_000_000,
    show_default=True,
    help="Measured requests per point.",
)
@click.option(
    "--replications",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Independent runs that a point is split into; their spread gives its interval.",
)
@seed_option
@click.option("--clients", type=int, default=2, show_default=True)
@click.option(
    "--racks",
    type=int,
    default=1,
    show_default=True,
    help="Racks that servers and clients are dealt to.",
)
@click.option(
    "--copies",
    type=int,
    default=2,
    show_default=True,
    help="Copies that a client of c-clone sends.",
)
@_duration("--link", "1us", "Host to switch, one way.")
@_duration("--switch-latency", "400ns", "One pass of a switch.")
@_duration("--aggregation", "1us", "Rack to rack, one way.")
@_duration("--dispatch-cost", "0", "Time of a server's dispatcher per request.")
@_duration("--client-cost", "0", "Time of a client's receiver per response.")
@_duration("--coordinator-cost", "250ns", "Time of the coordinator per packet received or sent.")
@click.option(
    "--coordinator-slots",
    type=int,
    default=0,
    help="Requests that it keeps at a server at once.  [the server's workers]",
)
@click.option(
    "--loss",
    type=float,
    default=0.0,
    show_default=True,
    help="Probability that a link loses a packet.",
)
@click.option(
    "--queue-limit",
    type=int,
    default=4096,
    show_default=True,
    help="Requests that a server's queue holds.",
)
@click.option(
    "--filter-tables", type=int, default=2, show_default=True, help="Filter tables of a switch."
)
@click.option("--filter-slots", type=int, default=1 << 17, show_default=True, help="Slots of each.")
@click.option(
    "--service-per",
    type=click.Choice(["copy", "request"]),
    default="copy",
    show_default=True,
    help="Each copy draws a service time of its own, or all copies of a request share one and only "
    "jitter differs.",
)
@click.option(
    "--state",
    type=click.Choice(["app", "inflight"]),
    default="app",
    show_default=True,
    help="Who counts a server's queue: its application, or its program.",
)
@_duration(
    "--server-timeout", "0", "Silence after which the switch considers a server failed; 0: never."
)
@click.option(
    "--outage",
    "outages",
    multiple=True,
    metavar="server:2@5ms-20ms",
    help="From one time to the other a server or switch is down, or a server is not listed.",
)
@processes_option
@scheduler_option
@json_option
@click.option(
    "--csv",
    "csv_path",
    callback=writable,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a table of the records.",
)
def simulate(**options: Any) -> None:
    """Simulate racks: every scheme at every load, on the data plane's own C logic.

    \b
    netclone-loadgen simulate --schemes baseline,netclone --service exp:25us \\
        --jitter 0.01x15 --loads 0.1,0.5,0.9 --json out.json
    """
    points = _points(options)
    results = simulated(points, options["processes"], options["scheduler"])
    records = [result.record() for result in results]
    if options["csv_path"] is not None:
        write_csv(options["csv_path"], records)
    if options["json_target"]:
        emit_records(records, options["json_target"])
    else:
        print_results(results)


def _points(options: dict[str, Any]) -> list[Point]:
    model = _model(options)
    schemes = [name.strip() for name in options["schemes"].split(",")]
    loads = parse_numbers(options["loads"], "--loads")
    if options["requests"] < 1:
        raise UserError(f"--requests: {options['requests']} is too few", "give 1 or more")
    points = []
    for scheme in schemes:
        for load in loads:
            point = Point(model, scheme, load, options["requests"], 1, options["seed"])
            point.check()
            points.append(with_replications(point, options["replications"]))
    return points


def _model(options: dict[str, Any]) -> Model:
    slots = options["filter_slots"]
    if slots < 1 or slots & (slots - 1):
        raise UserError(f"--filter-slots: {slots} is not a power of two", "give 131072, say")
    if not 1 <= options["servers"] <= 256:
        raise UserError(f"--servers: {options['servers']} is out of range", "give 1 to 256")
    workload = parse_workload(options["service"], options["jitter"])
    return Model(
        classes=(RequestClass(workload),),
        workers=parse_workers(options["workers"], options["servers"]),
        clients=options["clients"],
        racks=options["racks"],
        copies=options["copies"],
        link_ns=options["link"],
        switch_ns=options["switch_latency"],
        aggregation_ns=options["aggregation"],
        dispatch_ns=options["dispatch_cost"],
        client_ns=options["client_cost"],
        coordinator_ns=options["coordinator_cost"],
        coordinator_slots=options["coordinator_slots"],
        loss=options["loss"],
        queue_limit=options["queue_limit"],
        filter_tables=options["filter_tables"],
        filter_slots_log2=slots.bit_length() - 1,
        server_timeout_ns=options["server_timeout"],
        shared_service=options["service_per"] == "request",
        count_in_flight=options["state"] == "inflight",
        faults=tuple(fault for text in options["outages"] for fault in parse_outage(text)),
    )


def print_results(results: list[PointResult]) -> None:
    """One row per point: latencies with the half widths of their 95 % intervals."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("scheme")
    for name in (
        *("load", "answered/s", "mean us", "p50 us", "p99 us", "busy", "cloned"),
        *("refused", "slipped", "lost"),
    ):
        table.add_column(name, justify="right")
    for result in results:
        sent = result.count("sent")
        table.add_row(
            result.point.scheme,
            f"{result.point.load:g}",
            f"{result.achieved_rps:,.0f}",
            *(_with_half_width(result, metric) for metric in ("mean", "p50", "p99")),
            f"{result.utilisation:.3f}",
            f"{result.count('cloned') / sent:.3f}",
            f"{result.count('clones_refused'):,}",
            f"{result.count('slipped'):,}",
            f"{result.count('lost'):,}",
        )
    Console(width=140).print(table)


def _with_half_width(result: PointResult, metric: str) -> str:
    e = result.estimate_us(metric)
    return f"{e.value:,.2f}" + (f" ±{e.half_width:.2f}" if e.half_width == e.half_width else "")
