# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The paper's synthetic workloads: latency against throughput, the coordinator, the number of
servers, RackSched (figures 7 to 10)."""

from __future__ import annotations

from typing import Any

from loadgen.figures.base import (
    BIMODAL25,
    BIMODAL50,
    EXP25,
    EXP50,
    LOADS,
    TITLES,
    Claim,
    Figure,
    Settings,
    draw_latency,
    is_overloaded,
    mean_gain,
    most_throughput,
    paper_model,
    rows_of,
    steady_throughput,
    sweep,
    us,
)
from loadgen.plot.style import style

TESTBED = (
    "the testbed's hosts and switch add their own delays and spreads, which the model does not have"
)


def latency(s: Settings) -> Figure:
    """Figure 7: four workloads, baseline, C-Clone and NetClone."""
    services = (EXP25, BIMODAL25, EXP50, BIMODAL50)
    results = sweep(s, {x: paper_model(x) for x in services}, ("baseline", "c-clone", "netclone"))

    def better(panel: str) -> str:
        wins = [
            x
            for x in LOADS
            if us(results, panel, "netclone", x) < us(results, panel, "baseline", x)
        ]
        return f"at {len(wins)} of {len(LOADS)} loads, up to {max(wins, default=0):g}"

    def gain(panel: str, of: str = "netclone") -> str:
        return f"{mean_gain(results, panel, LOADS, 'baseline', of):.2f} times"

    half = steady_throughput(results, EXP25, "c-clone") / steady_throughput(
        results, EXP25, "baseline"
    )
    low = us(results, EXP25, "netclone", 0.2) / us(results, EXP25, "c-clone", 0.2)
    high = [
        us(results, p, "baseline", x) / us(results, p, "netclone", x)
        for p in (EXP50, BIMODAL50)
        for x in (0.8, 0.9)
    ]
    claims = [
        Claim(
            "Exp(25): p99 below the baseline's, average over loads",
            "1.48 times",
            gain(EXP25),
            "a worker here is interrupted by nothing but the 1 % jitter; " + TESTBED,
        ),
        Claim(
            "Bimodal(25,250): the same",
            "1.27 times",
            gain(BIMODAL25),
            "a tie at low load: 10 % of the times are long, and of 1 % of the pairs both, so that "
            "the 99th percentile is the long mode with cloning and without (and the baseline's "
            "stands on an edge: exactly 1 % of its times are above it); at 0.9 clones take "
            "workers from originals (see figure 'reserve')",
        ),
        Claim(
            "Exp(25): NetClone better than the baseline", "across almost all loads", better(EXP25)
        ),
        Claim(
            "Bimodal(25,250): the same",
            "across almost all loads",
            better(BIMODAL25),
        ),
        Claim(
            "C-Clone's throughput over the baseline's",
            "limited; half",
            f"{half:.2f}",
            "counted at loads where queues do not grow: at most 0.5 of 0.9",
        ),
        Claim("p99 of NetClone over C-Clone at low load (0.2), Exp(25)", "above 1", f"{low:.2f}"),
        Claim(
            "Exp(50), Bimodal(50,500): gain at high loads (0.8, 0.9)",
            "negligible",
            ", ".join(f"{x:.2f}" for x in high),
        ),
    ]

    def draw(ax: list[Any]) -> None:
        for position, service in enumerate(services):
            draw_latency(ax[position], results, service, TITLES[service])

    return Figure(
        "latency", "Latency against throughput (figure 7)", rows_of(results), claims, draw, (2, 2)
    )


def coordinator(s: Settings) -> Figure:
    """LAEDGE, whose coordinator is a processor, beside the switch."""
    panels = {EXP25: paper_model(EXP25), BIMODAL25: paper_model(BIMODAL25)}
    results = sweep(s, panels, ("baseline", "c-clone", "laedge", "netclone"))
    claims = []
    for panel in panels:
        most = {k: most_throughput(results, panel, k) / 1e6 for k in ("laedge", "netclone")}
        claims.append(
            Claim(
                f"{TITLES[panel]}: throughput of LAEDGE and of NetClone (million/s)",
                "the coordinator is the bottleneck, for only a few servers",
                f"{most['laedge']:.2f}, {most['netclone']:.2f}",
                "the coordinator needs 250 ns for a packet here: 4 million packets a second, up to "
                "6 packets for a cloned request",
            )
        )
    usable = [x for x in LOADS if not is_overloaded(results[BIMODAL25, "laedge", x])]
    if usable:
        at = max(usable)
        ratio = us(results, BIMODAL25, "laedge", at, "p50") / us(
            results, BIMODAL25, "netclone", at, "p50"
        )
        claims.append(
            Claim(
                f"Bimodal(25,250): median of LAEDGE over NetClone at load {at:g}",
                "microseconds more for each decision",
                f"{ratio:.2f}",
            )
        )

    def draw(ax: list[Any]) -> None:
        for position, panel in enumerate(panels):
            draw_latency(ax[position], results, panel, TITLES[panel])

    return Figure(
        "coordinator",
        "Cloning in the switch and in a coordinator",
        rows_of(results),
        claims,
        draw,
        (1, 2),
    )


def scaling(s: Settings) -> Figure:
    """Throughput and tail as servers are added."""
    counts = (2, 4, 6, 12, 24)
    schemes = ("baseline", "c-clone", "laedge", "netclone")
    # Short queues, so that an overloaded coordinator settles within the run.
    panels = {f"{n}": paper_model(EXP25, workers=(15,) * n, queue_limit=256) for n in counts}
    results = sweep(s, panels, schemes, (0.4, 0.9), scale=0.5)

    def grows(scheme: str) -> float:
        return most_throughput(results, "24", scheme) / most_throughput(results, "2", scheme)

    claims = [
        Claim(
            "throughput of 24 servers over 2, NetClone",
            "scales with the servers",
            f"{grows('netclone'):.1f} times",
        ),
        Claim(
            "the same, LAEDGE",
            "does not scale: the coordinator",
            f"{grows('laedge'):.1f} times",
        ),
        Claim(
            "p99 of the baseline over NetClone, load 0.4, by servers",
            "the gain stays",
            ", ".join(
                f"{us(results, p, 'baseline', 0.4) / us(results, p, 'netclone', 0.4):.2f}"
                for p in panels
            ),
        ),
    ]

    def draw(ax: list[Any]) -> None:
        for scheme in schemes:
            ax[0].plot(
                counts,
                [most_throughput(results, p, scheme) / 1e6 for p in panels],
                label=scheme,
                **style(scheme),
            )
            ax[1].plot(
                counts, [us(results, p, scheme, 0.4) for p in panels], label=scheme, **style(scheme)
            )
        ax[0].set_ylabel("most throughput (million requests/s)")
        ax[1].set_ylabel("p99 latency at load 0.4 (us)")
        ax[1].set_yscale("log")
        for each in ax:
            each.set_xlabel("servers of 15 workers, Exp(25)")

    return Figure(
        "scaling",
        "Scaling with the number of servers",
        rows_of(results, "servers"),
        claims,
        draw,
        (1, 2),
    )


def racksched(s: Settings) -> Figure:
    """Figure 10: RackSched, equal and unequal servers."""
    homogeneous, heterogeneous = (15,) * 6, (15, 15, 15, 8, 8, 8)
    schemes = ("baseline", "racksched", "netclone", "netclone+racksched")
    panels = {
        f"{TITLES[service]}, {name}": paper_model(service, workers=workers)
        for service in (EXP25, BIMODAL25)
        for name, workers in (("6 x 15", homogeneous), ("3 x 15 + 3 x 8", heterogeneous))
    }
    results = sweep(s, panels, schemes)
    equal, unequal = list(panels)[:2]
    both = "netclone+racksched"

    def wins(panel: str) -> str:
        # Within 2 % is a draw.
        least = [
            x
            for x in LOADS
            if us(results, panel, both, x) <= 1.02 * min(us(results, panel, k, x) for k in schemes)
        ]
        return f"at {len(least)} of {len(LOADS)} loads"

    gains = [mean_gain(results, panel, LOADS, "netclone", both) for panel in (equal, unequal)]
    at_most = us(results, equal, both, 0.9) / us(results, equal, "netclone", 0.9)
    claims = [
        Claim("NetClone with RackSched is the best (p99), " + p, "yes", wins(p)) for p in panels
    ] + [
        Claim(
            "its gain over NetClone, unequal and equal servers, Exp(25)",
            "more with unequal servers",
            f"{gains[1]:.2f} and {gains[0]:.2f} times",
        ),
        Claim(
            "6 x 15, very high load (0.9): p99 of NetClone with RackSched over NetClone",
            "above 1, supposedly since more states are stale",
            f"{at_most:.2f}",
            "in the model the shorter queue helps most there; a testbed's dispatcher, which has "
            "a core of its own to lose, is not in the model",
        ),
    ]

    def draw(ax: list[Any]) -> None:
        for position, panel in enumerate(panels):
            draw_latency(ax[position], results, panel, panel)

    return Figure("racksched", "With RackSched (figure 10)", rows_of(results), claims, draw, (2, 2))
