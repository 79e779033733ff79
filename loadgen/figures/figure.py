# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What every figure is made of: simulated points, axes, a CSV, and a table of claims."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadgen.plot.style import axes
from loadgen.sim.model import Model, Point, with_replications
from loadgen.sim.run import PointResult
from loadgen.workload.user_files import atomic_file

Run = Callable[[Sequence[Point]], list[PointResult]]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was measured here, and why they differ where they do."""

    what: str
    paper: str
    here: str
    note: str = ""


@dataclass(frozen=True)
class Settings:
    """How a figure is simulated."""

    run: Run
    requests: int = 1_000_000
    """Measured requests of a point; some figures take a multiple."""
    replications: int = 10
    seed: int = 1

    def point(self, model: Model, scheme: str, load: float, scale: float = 1, **more: Any) -> Point:
        requests = max(1000, round(self.requests * scale))
        point = Point(model, scheme, load, requests, seed=self.seed, **more)
        return with_replications(point, self.replications)


@dataclass
class Figure:
    """A finished figure: `draw` writes its axes."""

    name: str
    title: str
    rows: list[Row]
    claims: list[Claim]
    draw: Callable[[list[Any]], None]
    shape: tuple[int, int] = (1, 1)
    notes: list[str] = field(default_factory=list)


def table_text(figure: Figure) -> str:
    """Markdown: the paper says / measured here."""
    lines = [f"# {figure.title}", "", "| | the paper says | measured here |", "|---|---|---|"]
    lines += [f"| {c.what} | {c.paper} | {c.here} |" for c in figure.claims]
    notes = [f"- {c.what}: {c.note}" for c in figure.claims if c.note] + [
        f"- {note}" for note in figure.notes
    ]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def write(figure: Figure, out: Path) -> list[Path]:
    """NAME.png, NAME.csv and NAME.md in the directory `out`. Raises `UserError`."""
    png, table, text = (out / f"{figure.name}.{kind}" for kind in ("png", "csv", "md"))
    with atomic_file(table) as target:
        names = list(dict.fromkeys(name for row in figure.rows for name in row))
        writer = csv.DictWriter(target, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(figure.rows)
    with atomic_file(text) as target:
        target.write(table_text(figure))
    with axes(png, *figure.shape) as drawn:
        figure.draw(drawn)
    return [png, table, text]
