# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen advise``: should I clone?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from loadgen.advise.advice import answer
from loadgen.advise.question import Question
from loadgen.cli.advise_handshake import handshake
from loadgen.cli.advise_redundancy import redundancy
from loadgen.cli.output import emit_object, json_option, writable
from loadgen.cli.progress import simulated
from loadgen.cli.simulation_options import processes_option, scheduler_option, seed_option
from loadgen.sim.model import Point
from loadgen.sim.run import PointResult
from loadgen.workload.services import parse_workload
from netclone_host.cli import Group
from netclone_host.cli.usage import refuse
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError


def _time_ns(text: str, what: str) -> float:
    return 0.0 if text == "0" else parse_duration_ns(text, what)


@click.group(cls=Group, invoke_without_command=True)
@click.option("--service", metavar="DIST", help="Service times: a distribution, or trace:FILE.")
@click.option(
    "--jitter",
    default="none",
    show_default=True,
    metavar="PxM",
    help="With probability P a service takes M times as long.",
)
@click.option("--servers", type=int, default=10, show_default=True)
@click.option("--workers", type=int, default=1, show_default=True, help="Workers per server.")
@click.option("--copies", type=int, default=2, show_default=True, help="Copies of a request.")
@click.option("--load", type=float, help="Present load, 0 to 1.  [several]")
@click.option(
    "--client-overhead",
    default="0",
    metavar="TIME",
    help="What a replicated request costs the client.",
)
@click.option(
    "--requests", type=int, default=400_000, show_default=True, help="Simulated requests per point."
)
@seed_option
@processes_option
@scheduler_option
@json_option
@click.option(
    "--plot",
    "plot_path",
    callback=writable,
    type=click.Path(path_type=Path),
    metavar="FILE.png",
    help="Draw response time against load.",
)
@click.pass_context
def advise(ctx: click.Context, /, **options: Any) -> None:
    """Say up to which load copies of a request pay, and what to do about it.

    \b
    netclone-loadgen advise --service exp:25us --servers 6 --workers 15 --load 0.3
    netclone-loadgen advise handshake
    netclone-loadgen advise redundancy --trace dns.csv
    """
    if ctx.invoked_subcommand is not None:
        other = f"'advise {ctx.invoked_subcommand}'"
        refuse(
            ctx.params, f"does not apply to {other}", f"give the options of {other} after its name"
        )
        return
    if options["service"] is None:
        raise UserError("no service times given", "give --service exp:25us or --service trace:FILE")
    load = options["load"]
    if load is not None and not 0 < load < 1:
        raise UserError(f"--load: {load:g} is out of range", "give more than 0 and less than 1")
    if options["requests"] < 10_000:
        raise UserError(f"--requests: {options['requests']} is too few", "give 10000 or more")
    question = Question(
        workload=parse_workload(options["service"], options["jitter"]),
        servers=options["servers"],
        workers=options["workers"],
        copies=options["copies"],
        overhead_ns=_time_ns(options["client_overhead"], "--client-overhead"),
        requests=options["requests"],
        seed=options["seed"],
    )
    run = partial(_run, processes=options["processes"], scheduler=options["scheduler"])
    found = answer(question, load, run)
    if options["plot_path"] is not None:
        from loadgen.advise.plot import draw

        draw(question, found, options["plot_path"], run)
    if options["json_target"]:
        emit_object(found, options["json_target"])
    if options["json_target"] != "-":
        _print(found)


def _run(
    points: Sequence[Point], processes: int | None, scheduler: str | None
) -> list[PointResult]:
    return simulated(points, processes, scheduler)


def _load_text(load: float | None, method: str) -> str:
    return f"{'never' if load is None else f'{load:.4f}'}  ({method})"


def _print(found: dict[str, Any]) -> None:
    mean = _load_text(found["threshold_load"], found["threshold_method"])
    p99 = _load_text(found["threshold_load_p99"], found["threshold_method_p99"])
    click.echo(f"copies shorten the mean below a load of  {mean}")
    if found.get("threshold_load_simulated") is not None:
        click.echo(f"  with these {found['servers']} servers, simulated: ", nl=False)
        click.echo(f"{found['threshold_load_simulated']:.4f}")
    click.echo(f"copies shorten the p99 below a load of   {p99}")
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("load", "scheme", "mean us", "p50 us", "p99 us", "busy"):
        table.add_column(name, justify="left" if name == "scheme" else "right")
    for p in found["predictions"]:
        table.add_row(
            f"{p['load']:g}",
            p["scheme"],
            *(
                ["overloaded", "", ""]
                if p["overloaded"]
                else [
                    f"{p['mean_us']:,.2f} ±{p['mean_half_width_us']:.2f}",
                    f"{p['p50_us']:,.2f}",
                    f"{p['p99_us']:,.2f} ±{p['p99_half_width_us']:.2f}",
                ]
            ),
            f"{p['utilisation']:.2f}",
        )
    Console().print(table)
    click.echo(found["advice"])


advise.add_command(handshake)
advise.add_command(redundancy)
