# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen plot``: a picture and a table of records."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from loadgen.cli.output import emit_object, writable
from loadgen.plot.latency import LATENCIES, left_out, plot_records, points, with_suffix
from loadgen.workload.records import read_json, write_csv


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("latency"), show_default=True,
    help="Path without suffix: PNG, SVG and CSV are written.",
)  # fmt: skip
@click.option(
    "--latency", type=click.Choice(LATENCIES), default="p99_us", show_default=True, help="Y axis."
)
@click.option("--title", default="", help="Above the picture.")
@click.option(
    "--json",
    "json_to",
    callback=writable,
    help="Write the drawn points to this file, - for output.",
)
def plot(files: tuple[Path, ...], out: Path, latency: str, title: str, json_to: str | None) -> None:
    """Draw latency against throughput from files of records (sweep, rack run, simulate)."""
    records = [record for file in files for record in read_json(file)]
    written = plot_records(records, out, latency, title)
    if lost := left_out(records, latency):
        click.echo(f"left out: {lost} points where requests were lost, {latency} unknown", err=True)
    table = with_suffix(out, ".csv")
    write_csv(table, records)
    for path in (*written, table):
        click.echo(f"wrote {path}", err=True)
    if json_to:
        lines = points(records, latency)
        emit_object({name: [asdict(p) for p in line] for name, line in lines.items()}, json_to)
