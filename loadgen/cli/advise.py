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

from loadgen.advise import advice as api
from loadgen.advise import handshake as advise_handshake
from loadgen.advise import trace as advise_trace
from loadgen.cli.output import emit_object, writable
from loadgen.cli.progress import simulated
from loadgen.sim.model import Point
from loadgen.sim.run import PointResult
from loadgen.workload.services import parse_workload
from netclone_host.cli import Group
from netclone_host.cli.inapplicable import refuse
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError


def _time_ns(text: str, what: str) -> float:
    return 0.0 if text == "0" else parse_duration_ns(text, what)


def _probability(value: float, what: str) -> float:
    if not 0 <= value < 1:
        raise UserError(f"{what}: {value:g} is not a probability", "give 0 up to below 1")
    return value


@click.group(cls=Group, invoke_without_command=True)
@click.option("--service", metavar="DIST", help="A distribution, or trace:FILE.")
@click.option("--jitter", default="none", show_default=True, metavar="PxM")
@click.option("--servers", type=int, default=10, show_default=True)
@click.option("--workers", type=int, default=1, show_default=True, help="A server.")
@click.option("--copies", type=int, default=2, show_default=True)
@click.option("--load", type=float, help="Present load; by default several are looked at.")
@click.option("--client-overhead", default="0", metavar="TIME", help="A replicated request.")
@click.option("--requests", type=int, default=400_000, show_default=True, help="A point.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), help="[one a processor]")
@click.option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster that does the work.")
@click.option(
    "--json", "json_target", callback=writable, metavar="FILE", help="- is standard output."
)
@click.option(
    "--plot", "plot_path", callback=writable, type=click.Path(path_type=Path), metavar="FILE.png"
)
@click.pass_context
def advise(ctx: click.Context, /, **options: Any) -> None:
    """Say up to which load copies of a request pay, and what to do.

    \b
    netclone-loadgen advise --service exp:25us --servers 6 --workers 15 --load 0.3
    netclone-loadgen advise handshake
    netclone-loadgen advise redundancy --trace dns.csv
    """
    if ctx.invoked_subcommand is not None:
        other = f"'advise {ctx.invoked_subcommand}'"
        refuse(ctx.params, f"says nothing to {other}", f"its own options come after {other}")
        return
    if options["service"] is None:
        raise UserError("no service times given", "give --service exp:25us or --service trace:FILE")
    load = options["load"]
    if load is not None and not 0 < load < 1:
        raise UserError(f"--load: {load:g} is out of range", "give more than 0 and less than 1")
    if options["requests"] < 10_000:
        raise UserError(f"--requests: {options['requests']} is too few", "give 10000 or more")
    question = api.Question(
        workload=parse_workload(options["service"], options["jitter"]),
        servers=options["servers"],
        workers=options["workers"],
        copies=options["copies"],
        overhead_ns=_time_ns(options["client_overhead"], "--client-overhead"),
        requests=options["requests"],
        seed=options["seed"],
    )
    run = partial(_run, processes=options["processes"], scheduler=options["scheduler"])
    found = api.answer(question, load, run)
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


@advise.command()
@click.option("--loss", type=float, default=0.0048, show_default=True, help="Of a packet.")
@click.option("--pair-loss", type=float, default=0.0007, show_default=True, help="Both lost.")
@click.option("--independent", is_flag=True, help="Pairs are lost with probability loss squared.")
@click.option("--rtt", default="50ms", show_default=True, metavar="TIME")
@click.option("--timeout", default="3s", show_default=True, metavar="TIME")
@click.option(
    "--json", "json_target", callback=writable, metavar="FILE", help="- is standard output."
)
def handshake(
    loss: float,
    pair_loss: float,
    independent: bool,
    rtt: str,
    timeout: str,
    json_target: str | None,
) -> None:
    """Every packet of a TCP handshake sent twice: what it saves."""
    once = _probability(loss, "--loss")
    twice = once * once if independent else _probability(pair_loss, "--pair-loss")
    if twice > once:
        raise UserError(
            f"a pair cannot be lost more often ({twice:g}) than a packet ({once:g})",
            "give a --pair-loss of at most --loss",
        )
    found = advise_handshake.answer(
        advise_handshake.Handshake(
            once,
            twice,
            parse_duration_ns(rtt, "--rtt") * 1e-9,
            parse_duration_ns(timeout, "--timeout") * 1e-9,
        )
    )
    if json_target:
        emit_object(found, json_target)
    if json_target == "-":
        return
    click.echo(f"mean saved   {found['mean_saving_ms']:.1f} ms")
    click.echo(f"p99.9 saved  {found['p999_saving_ms']:.0f} ms")
    for q, times in found["quantiles_ms"].items():
        click.echo(f"  {q:>7}: once {times['once']:9.1f} ms, twice {times['twice']:9.1f} ms")
    click.echo(found["explanation"])


@advise.command()
@click.option("--trace", type=click.Path(path_type=Path), required=True, metavar="FILE")
@click.option("--services", type=click.IntRange(1, 64), help="If the trace has one column.")
@click.option("--bound", "bounds", multiple=True, default=("500ms", "1.5s"), show_default=True)
@click.option("--kb-per-copy", type=float, default=0.5, show_default=True)
@click.option("--worth", type=float, default=16.0, show_default=True, help="ms saved for a KB.")
@click.option("--timeout", default="2s", show_default=True, metavar="TIME")
@click.option(
    "--json", "json_target", callback=writable, metavar="FILE", help="- is standard output."
)
def redundancy(
    trace: Path,
    services: int | None,
    bounds: tuple[str, ...],
    kb_per_copy: float,
    worth: float,
    timeout: str,
    json_target: str | None,
) -> None:
    """Ask k of n services at once: how many are late, and when another copy stops paying."""
    if not kb_per_copy > 0:
        raise UserError(f"--kb-per-copy: {kb_per_copy:g} is not above 0", "give 0.5, say")
    found = advise_trace.analyse(
        trace,
        [parse_duration_ns(b, "--bound") * 1e-6 for b in bounds],
        services=services,
        kb_per_copy=kb_per_copy,
        worth_ms_per_kb=worth,
        timeout_ms=parse_duration_ns(timeout, "--timeout") * 1e-6,
    )
    if json_target:
        emit_object(found, json_target)
    if json_target == "-":
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    late = list(found["copies"][0]["later"])
    for name in ("copies", "mean ms", "p50 ms", "p99 ms", *(f"> {b} ms" for b in late)):
        table.add_column(name, justify="right")
    for row in found["copies"]:
        table.add_row(
            str(row["copies"]),
            *(f"{row[name]:.2f}" for name in ("mean_ms", "p50_ms", "p99_ms")),
            *(f"{row['later'][b]:.3%}" for b in late),
        )
    Console().print(table)
    click.echo(found["advice"])
