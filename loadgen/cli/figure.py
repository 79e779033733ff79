# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen figure``: the figures of the papers, by simulation."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from loadgen.cli.progress import simulated
from loadgen.cli.simulation_options import processes_option, scheduler_option, seed_option
from loadgen.figures import FIGURES, Settings, write
from loadgen.figures.figure import table_text
from netclone_host.errors import UserError


@click.command()
@click.argument("name", metavar="NAME|all")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Where the files go; made if need be.",
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
    type=click.IntRange(2),
    default=10,
    show_default=True,
    help="Independent runs that a point is split into; their spread gives its interval.",
)
@seed_option
@processes_option
@scheduler_option
def figure(
    name: str,
    out: Path,
    requests: int,
    replications: int,
    seed: int,
    processes: int | None,
    scheduler: str | None,
) -> None:
    """Regenerate a figure: DIR/NAME.png, .csv and .md (the paper says / measured here).

    \b
    latency coordinator scaling racksched key-value low-variability filter-tables
    switch-failure redundancy threshold overhead independence reserve
    """
    if name != "all" and name not in FIGURES:
        raise UserError(f"unknown figure '{name}'", f"figures: {', '.join(FIGURES)}, all")
    if requests < 2000:
        raise UserError(f"--requests: {requests} is too few", "give 2000 or more")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make '{out}': {error.strerror}", "choose another place") from error
    for each in FIGURES if name == "all" else [name]:
        run = partial(simulated, processes=processes, scheduler=scheduler, title=each)
        made = FIGURES[each](Settings(run, requests, replications, seed))
        paths = write(made, out)
        click.echo(table_text(made))
        click.echo(" ".join(str(path) for path in paths))
