# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What every figure is made of: simulated points, a PNG, a CSV, and a table of claims."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loadgen.plot.style import axes, style
from loadgen.sim.model import Model, Point, RequestClass, with_replications
from loadgen.sim.run import PointResult
from loadgen.workload.services import parse_workload
from loadgen.workload.user_files import atomic_file

Run = Callable[[Sequence[Point]], list[PointResult]]
Key = tuple[str, str, float]
"""(panel, scheme, load)."""
Results = dict[Key, PointResult]
Row = Mapping[str, Any]

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
METRICS = ("mean", "p50", "p99", "p999")
PAPER_JITTER = "0.01x15"
EXP25, BIMODAL25 = "exp:25us", "bimodal:0.9:25us:250us"
EXP50, BIMODAL50 = "exp:50us", "bimodal:0.9:50us:500us"
TITLES = {
    EXP25: "Exp(25)",
    BIMODAL25: "Bimodal(90%-25,10%-250)",
    EXP50: "Exp(50)",
    BIMODAL50: "Bimodal(90%-50,10%-500)",
}


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


def paper_model(service: str, jitter: str = PAPER_JITTER, **given: Any) -> Model:
    """Six servers of 15 workers, as in section 5 of the paper."""
    return Model(classes=(RequestClass(parse_workload(service, jitter)),), **given)


def sweep(
    settings: Settings,
    panels: Mapping[str, Model],
    schemes: Sequence[str],
    loads: Sequence[float] = LOADS,
    scale: float = 1,
) -> Results:
    """Every scheme at every load for every panel, all simulated side by side."""
    keys = [(p, s, x) for p in panels for s in schemes for x in loads]
    points = [settings.point(panels[p], s, x, scale) for p, s, x in keys]
    return dict(zip(keys, settings.run(points), strict=True))


def row_of(result: PointResult, **first: Any) -> Row:
    """A line of the CSV: times in us with half widths, rates, shares."""
    row: dict[str, Any] = {**first, "scheme": result.point.scheme, "load": result.point.load}
    row["achieved_rps"] = round(result.achieved_rps)
    for metric in METRICS:
        e = result.estimate_us(metric)
        row[f"{metric}_us"] = round(e.value, 4)
        row[f"{metric}_half_width_us"] = round(e.half_width, 4)
    sent = result.count("sent")
    row["utilisation"] = round(result.utilisation, 5)
    row["cloned_share"] = round(result.count("cloned") / sent, 5)
    row["lost_share"] = round(result.count("lost") / sent, 5)
    return row


def rows_of(results: Results, panel: str = "panel") -> list[Row]:
    return [row_of(result, **{panel: key[0]}) for key, result in results.items()]


def us(results: Results, panel: str, scheme: str, load: float, metric: str = "p99") -> float:
    return results[panel, scheme, load].estimate_us(metric).value


def is_overloaded(result: PointResult) -> bool:
    """Queues that only grow: the answers fall behind the requests."""
    return result.achieved_rps < 0.97 * result.point.model.rate_rps(result.point.load)


def draw_latency(
    ax: Any, results: Results, panel: str, title: str, metric: str = "p99", by: str = "rate"
) -> None:
    """Latency against throughput (or load), a line a scheme, with 95 % bands."""
    for scheme in dict.fromkeys(key[1] for key in results if key[0] == panel):
        points = [r for key, r in results.items() if key[:2] == (panel, scheme)]
        # Of an overloaded scheme the first such point: where its line shoots up.
        shown = [r for i, r in enumerate(points) if not (i and is_overloaded(points[i - 1]))]
        x = [r.achieved_rps / 1e6 if by == "rate" else r.point.load for r in shown]
        e = [r.estimate_us(metric) for r in shown]
        look = style(scheme)
        ax.plot(x, [v.value for v in e], label=scheme, **look)
        ax.fill_between(
            x, [v.low for v in e], [v.high for v in e], color=look["color"], alpha=0.2, lw=0
        )
    ax.set_yscale("log")
    ax.set_title(title, fontsize=10)
    ax.set_xlabel("throughput (million requests/s)" if by == "rate" else "load")
    ax.set_ylabel(f"{metric} latency (us)")


def most_throughput(results: Results, panel: str, scheme: str) -> float:
    return max(r.achieved_rps for key, r in results.items() if key[:2] == (panel, scheme))


def steady_throughput(results: Results, panel: str, scheme: str) -> float:
    """Most of the loads at which the queues do not grow."""
    return max(
        r.achieved_rps
        for key, r in results.items()
        if key[:2] == (panel, scheme) and not is_overloaded(r)
    )


def mean_gain(results: Results, panel: str, loads: Iterable[float], than: str, of: str) -> float:
    """Average over the loads of how many times lower the p99 of `of` is than that of `than`."""
    gains = [us(results, panel, than, x) / us(results, panel, of, x) for x in loads]
    return sum(gains) / len(gains)


def with_service(model: Model, service: str, jitter: str) -> Model:
    return replace(model, classes=(RequestClass(parse_workload(service, jitter)),))


# ---- files ----


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
