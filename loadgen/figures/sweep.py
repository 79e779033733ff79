# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sweeps over schemes and loads on the paper's workloads, and what is read off them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadgen.figures.figure import Row, Settings
from loadgen.plot.style import line, style
from loadgen.sim.model import Model, RequestClass
from loadgen.sim.run import PointResult
from loadgen.workload.services import parse_workload

Results = dict[tuple[str, str, float], PointResult]
"""By (panel, scheme, load)."""

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


def ratio(
    results: Results, panel: str, load: float, over: str, of: str, metric: str = "p99"
) -> float:
    """How many times longer scheme `over` takes than scheme `of`."""
    return us(results, panel, over, load, metric) / us(results, panel, of, load, metric)


def is_overloaded(result: PointResult) -> bool:
    """Queues that only grow: the answers fall behind the requests."""
    return result.achieved_rps < 0.97 * result.point.model.rate_rps(result.point.load)


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
    """How many times lower the p99 of `of` is than that of `than`, averaged over the loads."""
    gains = [ratio(results, panel, x, than, of) for x in loads]
    return sum(gains) / len(gains)


def draw_panels(ax: Sequence[Any], results: Results, titles: Mapping[str, str]) -> None:
    """p99 against throughput with 95 % bands: axes per panel, a line per scheme."""
    for each, (panel, title) in zip(ax, titles.items(), strict=False):
        for scheme in dict.fromkeys(key[1] for key in results if key[0] == panel):
            points = [r for key, r in results.items() if key[:2] == (panel, scheme)]
            # An overloaded scheme is shown up to its first such point: its line shoots up there.
            shown = [r for i, r in enumerate(points) if not (i and is_overloaded(points[i - 1]))]
            x = [r.achieved_rps / 1e6 for r in shown]
            e = [r.estimate_us("p99") for r in shown]
            band = [v.low for v in e], [v.high for v in e]
            line(each, x, [v.value for v in e], scheme, style(scheme), band)
        each.set_yscale("log")
        each.set_title(title, fontsize=10)
        each.set_xlabel("throughput (million requests/s)")
        each.set_ylabel("p99 latency (us)")
