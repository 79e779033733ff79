# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Key-value stores, low variability, filter tables, a switch failure (figures 11 and after)."""

from __future__ import annotations

from typing import Any

from loadgen.figures.base import (
    BIMODAL25,
    EXP25,
    LOADS,
    PAPER_JITTER,
    TITLES,
    Claim,
    Figure,
    Row,
    Settings,
    draw_latency,
    mean_gain,
    paper_model,
    rows_of,
    steady_throughput,
    sweep,
    us,
)
from loadgen.plot.style import style
from loadgen.sim.model import Fault, Model, RequestClass
from loadgen.sim.native import FaultKind
from loadgen.workload.services import parse_workload

# GET of one object, SCAN of 100: assumed, the paper does not give them.
STORES = {
    "Redis": ("lognormal:0.3:20us", "lognormal:0.3:440us"),
    "Memcached": ("lognormal:0.3:10us", "lognormal:0.3:220us"),
}
MIXES = {"99% GET, 1% SCAN": 0.99, "90% GET, 10% SCAN": 0.9}


def _store(store: str, share: float) -> Model:
    """Reads of a store, `share` of them GETs; 8 workers a server."""
    get, scan = STORES[store]
    classes = (
        RequestClass(parse_workload(get, PAPER_JITTER), share),
        RequestClass(parse_workload(scan, PAPER_JITTER), 1 - share),
    )
    return Model(classes=classes, workers=(8,) * 6)


def key_value(s: Settings) -> Figure:
    """Figures 11 and 12: reads of replicated stores, 8 workers a server."""
    panels = {
        f"{store}, {mix}": _store(store, share) for store in STORES for mix, share in MIXES.items()
    }
    results = sweep(s, panels, ("baseline", "c-clone", "netclone"))
    edge = "Redis, 99.1% GET, 0.9% SCAN"
    results |= sweep(s, {edge: _store("Redis", 0.991)}, ("baseline", "netclone"))

    def gains(panel: str) -> list[float]:
        return [
            us(results, panel, "baseline", x) / us(results, panel, "netclone", x) for x in LOADS
        ]

    said = ("up to 22.59 times", "up to 1.77 times", "1.06 to 22.00 times", "1.24 times on average")
    claims = []
    for panel, paper in zip(panels, said, strict=True):
        found = gains(panel)
        claims.append(
            Claim(
                f"{panel}: p99 below the baseline's",
                paper,
                f"{min(found):.2f} to {max(found):.2f} times, {sum(found) / len(found):.2f} on "
                "average",
            )
        )
    found = gains(edge)
    claims.append(
        Claim(
            f"{edge}: the same",
            "(99/1: up to 22.59 times)",
            f"{min(found):.2f} to {max(found):.2f} times, {sum(found) / len(found):.2f} on average",
            "cloning does not shorten a SCAN. If exactly 1 % are SCANs, the 99th percentile with "
            "cloning stands on the edge between GET and SCAN; a hair fewer, and it falls among the "
            "GETs, while the baseline's still falls among SCANs and jitter",
        )
    )
    first = next(iter(panels))
    half = steady_throughput(results, first, "c-clone") / steady_throughput(
        results, first, "netclone"
    )
    claims.append(Claim("C-Clone's throughput over NetClone's", "half", f"{half:.2f}"))

    def draw(ax: list[Any]) -> None:
        for position, panel in enumerate(panels):
            draw_latency(ax[position], results, panel, panel)

    notes = [
        "The service times of GET and SCAN are assumed: a SCAN of 100 objects takes 22 times as "
        "long as a GET, jitter 1 % x 15.",
    ]
    return Figure(
        "key-value",
        "Replicated key-value stores (figures 11, 12)",
        rows_of(results),
        claims,
        draw,
        (2, 2),
        notes,
    )


def low_variability(s: Settings) -> Figure:
    """Jitter of 0.1 % instead of 1 %."""
    panels = {x: paper_model(x, "0.001x15") for x in (EXP25, BIMODAL25)}
    usual = {f"{x} usual": paper_model(x) for x in (EXP25, BIMODAL25)}
    results = sweep(s, panels, ("baseline", "c-clone", "netclone"))
    compared = sweep(s, usual, ("baseline", "netclone"))
    claims = [
        Claim(
            f"{TITLES[x]}: p99 below the baseline's, average over loads, jitter 0.1 % and 1 %",
            "still better, by less",
            f"{mean_gain(results, x, LOADS, 'baseline', 'netclone'):.2f} and "
            f"{mean_gain(compared, f'{x} usual', LOADS, 'baseline', 'netclone'):.2f} times",
        )
        for x in panels
    ]

    def draw(ax: list[Any]) -> None:
        for position, panel in enumerate(panels):
            draw_latency(ax[position], results, panel, f"{TITLES[panel]}, jitter 0.1 % x 15")

    rows = rows_of(results) + rows_of(compared)
    return Figure("low-variability", "Low service-time variability", rows, claims, draw, (1, 2))


def filter_tables(s: Settings) -> Figure:
    """How many redundant responses slip through smaller and fewer filter tables."""
    sizes = (4, 5, 6, 7, 8, 9, 10, 12, 14, 17)
    counts = (1, 2, 4)
    load = 0.5
    keys = [(n, k) for n in counts for k in sizes]
    found = s.run(
        [
            s.point(paper_model(EXP25, filter_tables=n, filter_slots_log2=k), "netclone", load)
            for n, k in keys
        ]
    )
    share = {}
    for key, result in zip(keys, found, strict=True):
        both = result.count("slipped") + result.count("filtered")
        share[key] = result.count("slipped") / both if both else 0.0
    rows: list[Row] = [
        {"tables": n, "slots_log2": k, "load": load, "slipped_share": share[n, k]} for n, k in keys
    ]
    claims = [
        Claim(
            "redundant responses that slip through 2 tables of 2^17 slots",
            "rare: latencies are microseconds",
            f"{share[2, 17]:.2e}",
        ),
        Claim(
            "2^8 slots: 1, 2 and 4 tables",
            "more tables, fewer collisions",
            ", ".join(f"{share[n, 8]:.2e}" for n in counts),
            "ids are consecutive, so a table of one slot for each request in flight is enough: a "
            "slot is taken again only after the sequence has gone round the table",
        ),
    ]

    def draw(ax: list[Any]) -> None:
        for position, n in enumerate(counts):
            ax[0].plot(
                [2**k for k in sizes],
                [max(share[n, k], 1e-7) for k in sizes],
                label=f"{n} table{'s' if n > 1 else ''}",
                **style("", position),
            )
        ax[0].set_xscale("log", base=2)
        ax[0].set_yscale("log")
        ax[0].set_xlabel("slots of a filter table")
        ax[0].set_ylabel("redundant responses that slip through")

    return Figure("filter-tables", "Number and size of filter tables", rows, claims, draw)


def switch_failure(s: Settings) -> Figure:
    """Throughput in time while the switch is down and after it is back, tables empty."""
    buckets, width_s = 60, 0.001
    down, up = 0.02, 0.03
    faults = (Fault(down, FaultKind.SWITCH_DOWN, 0), Fault(up, FaultKind.SWITCH_UP, 0))
    model = paper_model(EXP25, faults=faults)
    load = 0.5
    requests = round(model.rate_rps(load) * buckets * width_s * 1.1)
    point = s.point(model, "netclone", load, timeline_s=width_s, timeline_buckets=buckets)
    [result] = s.run([type(point)(**{**vars(point), "requests": requests, "replications": 1})])
    timeline = result.replications[0].timeline
    rate = [count / width_s / 1e6 for count in timeline]
    before = sum(rate[5:19]) / 14
    first_full = next((i for i in range(30, buckets) if rate[i] > 0.95 * before), buckets)
    rows: list[Row] = [
        {"time_ms": round((i + 0.5) * width_s * 1e3, 3), "answered_mrps": round(value, 5)}
        for i, value in enumerate(rate)
    ]
    claims = [
        Claim("throughput while the switch is down", "zero", f"{sum(rate[21:30]):.3f}"),
        Claim(
            "after its return, with empty tables",
            "back at once: the states come with the next responses",
            f"full rate within {(first_full - 30 + 1) * width_s * 1e3:g} ms",
            "the sequence starts at a random id: from 0 clients would take new responses for old "
            "ones that they still remember",
        ),
        Claim(
            "redundant responses that reached a client",
            "temporary overhead",
            f"{result.count('slipped')} of {result.count('answered'):,}",
        ),
    ]

    def draw(ax: list[Any]) -> None:
        ax[0].plot([row["time_ms"] for row in rows], rate, color=style("netclone")["color"])
        ax[0].axvspan(down * 1e3, up * 1e3, color="#c44e52", alpha=0.15, label="switch down")
        ax[0].set_xlabel("time (ms)")
        ax[0].set_ylabel("answered (million requests/s)")
        ax[0].set_ylim(0, 1.3 * before)

    return Figure("switch-failure", "A switch failure in time", rows, claims, draw)
