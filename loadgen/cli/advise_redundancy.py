# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen advise redundancy``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from loadgen.advise.trace import analyse
from loadgen.cli.output import emit_object, json_option
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError


@click.command()
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="CSV of response times, a column per service.",
)
@click.option(
    "--services",
    type=click.IntRange(1, 64),
    help="How many services a trace of one column stands for.",
)
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    default=("500ms", "1.5s"),
    show_default=True,
    metavar="TIME",
    help="Report the fraction of later answers; may be repeated.",
)
@click.option(
    "--kb-per-copy", type=float, default=0.5, show_default=True, help="What a copy costs."
)
@click.option(
    "--worth",
    type=float,
    default=16.0,
    show_default=True,
    help="A copy pays that saves so many ms per KB.",
)
@click.option(
    "--timeout",
    default="2s",
    show_default=True,
    metavar="TIME",
    help="Longer answers count as this long.",
)
@json_option
def redundancy(
    trace: Path,
    services: int | None,
    bounds: tuple[str, ...],
    kb_per_copy: float,
    worth: float,
    timeout: str,
    json_target: str | None,
) -> None:
    """Ask k of n services at once: how many answers are late, and when a copy stops paying."""
    if not kb_per_copy > 0:
        raise UserError(f"--kb-per-copy: {kb_per_copy:g} is not above 0", "give 0.5, say")
    found = analyse(
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
    _print(found)


def _print(found: dict[str, Any]) -> None:
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
