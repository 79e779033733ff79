# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the verbs print: a table for people, JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from loadgen.workload.records import RunRecord, to_json, write_json
from loadgen.workload.user_files import atomic_file, require_writable


def _number(value: float, digits: int = 1) -> str:
    return "-" if not math.isfinite(value) else f"{value:,.{digits}f}"


def print_records(records: Sequence[RunRecord]) -> None:
    """One row per run."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("scheme")
    for name in (
        *("load", "offered/s", "achieved/s", "p50 us", "p99 us", "p99.9 us", "sent"),
        *("unanswered", "redundant", "late"),
    ):
        table.add_column(name, justify="right")
    for r in records:
        table.add_row(
            r.scheme,
            _number(r.load, 2),
            _number(r.offered_rps, 0),
            _number(r.achieved_rps, 0),
            _number(r.p50_us),
            _number(r.p99_us),
            _number(r.p999_us),
            f"{r.sent:,}",
            f"{r.unanswered + r.unsent:,}",
            f"{r.redundant:,}",
            f"{r.late_sends:,}",
        )
    Console(width=None if sys.stdout.isatty() else 130).print(table)
    for r in records:
        if r.note or not r.kept_schedule:
            click.echo(f"{r.scheme} at {r.offered_rps:,.0f}/s: {_trouble(r)}", err=True)


def _trouble(r: RunRecord) -> str:
    parts = [r.note] if r.note else []
    if not r.kept_schedule:
        parts.append(
            f"schedule not kept: {r.late_sends:,} of {r.sent:,} sent more than "
            f"{r.late_limit_us:g} us late, {r.unsent:,} not sent"
        )
    return "; ".join(parts)


def writable(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
    """Callback of options that name a file to write: `UserError` before anything is measured."""
    if value not in (None, "-"):
        require_writable(Path(value))
    return value


json_option = click.option(
    "--json",
    "json_target",
    callback=writable,
    metavar="FILE",
    help="Write JSON to this file; - is standard output.",
)


def emit_records(records: Sequence[RunRecord], target: str | None, *, table: bool = True) -> None:
    """JSON to the file `target`, to standard output for `-`; a table unless that has the JSON.
    The table comes first: what was measured is not lost when the file cannot be written."""
    if target == "-":
        click.echo(to_json(records), nl=False)
        return
    if table:
        print_records(records)
    if target is not None:
        write_json(Path(target), records)


def emit_object(value: Any, target: str) -> None:
    """One JSON object to a file, or to standard output for `-`."""
    text = json.dumps(value, indent=1) + "\n"
    if target == "-":
        click.echo(text, nl=False)
        return
    with atomic_file(Path(target)) as out:
        out.write(text)
