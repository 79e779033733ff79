# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Copies of every request in queues of one worker: the second document's figures."""

from __future__ import annotations

import math
from typing import Any

from loadgen.advise.advice import Question, Threshold, simulated_thresholds
from loadgen.figures.base import Claim, Figure, Row, Settings, row_of
from loadgen.plot.style import style
from loadgen.sim import theory
from loadgen.sim.model import Model, RequestClass
from loadgen.workload.services import parse_workload

SERVERS = 20
PARETO, CONST = "pareto:2.1:1ms", "const:1ms"
LOADS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
LABELS = {"baseline": "1 copy", "c-clone": "2 copies"}


def _model(service: str, servers: int = SERVERS) -> Model:
    return Model(
        classes=(RequestClass(parse_workload(service)),),
        workers=(1,) * servers,
        clients=1,
        link_ns=0.0,
        switch_ns=0.0,
        queue_limit=1 << 16,
    )


def response_time(s: Settings) -> Figure:
    """Mean and 99.9th percentile against load, one copy and two."""
    keys = [(x, k, load) for x in (CONST, PARETO) for k in LABELS for load in LOADS]
    found = s.run([s.point(_model(x), k, load) for x, k, load in keys])
    results = dict(zip(keys, found, strict=True))

    def value(service: str, scheme: str, load: float, metric: str) -> float:
        return results[service, scheme, load].estimate_us(metric).value * 1e-3

    best = max(
        value(PARETO, "baseline", x, "p999") / value(PARETO, "c-clone", x, "p999") for x in LOADS
    )
    crossing = {
        service: max(
            (
                x
                for x in LOADS
                if value(service, "c-clone", x, "mean") < value(service, "baseline", x, "mean")
            ),
            default=0.0,
        )
        for service in (CONST, PARETO)
    }
    claims = [
        Claim("Pareto: 99.9th percentile, most gain of two copies", "5 times", f"{best:.1f} times"),
        Claim(
            "two copies shorten the mean up to a load of (deterministic, Pareto)",
            "a threshold, higher for more variable times",
            f"{crossing[CONST]:g}, {crossing[PARETO]:g}",
        ),
    ]

    def draw(ax: list[Any]) -> None:
        for row, service in enumerate((CONST, PARETO)):
            for column, metric in enumerate(("mean", "p999")):
                each = ax[2 * row + column]
                for scheme, label in LABELS.items():
                    each.plot(
                        LOADS,
                        [value(service, scheme, x, metric) for x in LOADS],
                        label=label,
                        **style(scheme),
                    )
                each.set_yscale("log")
                each.set_xlabel("load")
                each.set_ylabel(f"{metric} of the response time (service times)")
                each.set_title("deterministic" if service == CONST else "Pareto (2.1)", fontsize=10)

    rows = [row_of(r, service=key[0]) for key, r in results.items()]
    return Figure("redundancy", "Response time, one copy and two", rows, claims, draw, (2, 2))


def _weibull_cv2(shape: float) -> float:
    return math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1


def _families() -> dict[str, list[tuple[float, str]]]:
    """Family -> (squared coefficient of variation, distribution of mean 1 ms)."""
    weibull = [(_weibull_cv2(k), f"weibull:{k}:1ms") for k in (4.0, 1.5, 1.0, 0.7, 0.5, 0.4)]
    pareto = [(1 / (a * (a - 2)), f"pareto:{a}:1ms") for a in (6.0, 3.0, 2.5, 2.2, 2.1)]
    # Half of a mean with probability p; the rare long ones carry the rest of the work.
    two_point = []
    for p in (0.1, 0.5, 0.8, 0.9, 0.95, 0.98):
        long = (1 - p / 2) / (1 - p)
        cv2 = p / 4 + (1 - p) * long * long - 1
        two_point.append((cv2, f"twopoint:{1 - p:.3g}:{2 * long:.6g}:1ms"))
    return {"Weibull": weibull, "Pareto": pareto, "two-point": two_point}


def _question(s: Settings, service: str, overhead_ns: float = 0.0) -> Question:
    return Question(
        parse_workload(service),
        SERVERS,
        overhead_ns=overhead_ns,
        requests=max(20_000, s.requests // 2),
        seed=s.seed,
    )


def _load(t: Threshold) -> float:
    return t.load or 0.0


def threshold(s: Settings) -> Figure:
    """Threshold load against the variance of the service times."""
    families = _families()
    flat = [(family, cv2, text) for family, items in families.items() for cv2, text in items]
    questions = [_question(s, text) for _, _, text in flat]
    found = simulated_thresholds([*questions, _question(s, CONST)], s.run)
    by = {(f, cv2): _load(t) for (f, cv2, _), t in zip(flat, found, strict=False)}
    deterministic = _load(found[-1])
    exponential = by["Weibull", _weibull_cv2(1.0)]
    rows: list[Row] = [
        {"family": f, "squared_cv": round(c, 5), "service": text, "threshold_load": _load(t)}
        for (f, c, text), t in zip(flat, found, strict=False)
    ]
    rows.append(
        {
            "family": "deterministic",
            "squared_cv": 0,
            "service": CONST,
            "threshold_load": deterministic,
        }
    )
    claims = [
        Claim(
            "exponential",
            "33 %",
            f"{exponential:.3f}",
            f"1/3 for independent queues; {SERVERS} servers are a little less",
        ),
        Claim(
            "deterministic",
            "about 26 %, conjectured the worst",
            f"{deterministic:.3f}",
            "independent queues: 0.272 by the formula of M/D/1",
        ),
        Claim(
            "all of them",
            "between 25 % and 50 %",
            f"{min([*by.values(), deterministic]):.3f} to {max(by.values()):.3f}",
        ),
        Claim(
            "high variance",
            "can approach 50 %",
            ", ".join(f"{f}: {max(v for (g, _), v in by.items() if g == f):.3f}" for f in families),
            "heavy tails do (Pareto towards 2, which takes longer runs than these to see); light "
            "tails of the same variance do not: the waits at twice the load grow with it, too",
        ),
    ]

    def draw(ax: list[Any]) -> None:
        for position, (family, items) in enumerate(families.items()):
            ax[0].plot(
                [c for c, _ in items],
                [by[family, c] for c, _ in items],
                label=family,
                **style("", position + 1),
            )
        ax[0].axhline(
            deterministic, color="black", linestyle=":", linewidth=1, label="deterministic"
        )
        ax[0].axhline(0.5, color="#888888", linewidth=0.8)
        ax[0].set_xscale("log")
        ax[0].set_ylim(0.2, 0.52)
        ax[0].set_xlabel("squared coefficient of variation of the service time")
        ax[0].set_ylabel("threshold load, two copies")

    return Figure("threshold", "Threshold load against variance", rows, claims, draw)


def overhead(s: Settings) -> Figure:
    """Threshold load against what a replicated request costs the client."""
    shares = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
    services = {"exponential": "exp:1ms", "Pareto (2.1)": PARETO, "deterministic": CONST}
    flat = [(name, x) for name in services for x in shares]
    questions = [_question(s, services[name], x * 1e6) for name, x in flat]
    found = simulated_thresholds(questions, s.run)
    by = {key: _load(t) for key, t in zip(flat, found, strict=True)}
    rows: list[Row] = [
        {"service": name, "overhead_over_mean": x, "threshold_load": by[name, x]}
        for name, x in flat
    ]
    analytic = theory.threshold(
        lambda load: theory.exponential_mean(1, 1, load),
        lambda load: theory.exponential_mean(1, 2, load) + 0.2,
        2,
    )
    claims = [
        Claim(
            "overhead equal to the mean service time",
            "no gain",
            ", ".join(f"{name}: {by[name, 1.0]:g}" for name in services),
        ),
        Claim(
            "overhead of 0.2 of the mean",
            "may fall below 25 %",
            ", ".join(f"{name}: {by[name, 0.2]:.3f}" for name in services),
            f"exponential, independent queues: {analytic:.3f}; 0 means never. Deterministic times "
            "gain nothing while queues are empty, so any overhead is too much at low load",
        ),
    ]

    def draw(ax: list[Any]) -> None:
        for position, name in enumerate(services):
            ax[0].plot(shares, [by[name, x] for x in shares], label=name, **style("", position + 1))
        ax[0].set_xlabel("client's overhead over the mean service time")
        ax[0].set_ylabel("threshold load, two copies")

    return Figure("overhead", "Effect of the client's overhead", rows, claims, draw)


def independence(s: Settings) -> Figure:
    """Mean response time with two copies: simulated queues against independent ones."""
    formulas = {"exp:1ms": theory.exponential_mean, CONST: theory.deterministic_mean}
    counts = (10, 20)
    keys = [(x, n, load) for x in formulas for n in counts for load in LOADS]
    # Few servers run slowly into their long-run state: more requests.
    found = s.run([s.point(_model(x, n), "c-clone", load, scale=4) for x, n, load in keys])
    error: dict[tuple[str, int, float], float] = {}
    rows: list[Row] = []
    for (service, n, load), result in zip(keys, found, strict=True):
        truth = formulas[service](1.0, 2, load)
        e = result.estimate_us("mean")
        error[service, n, load] = (e.value * 1e-3 - truth) / truth
        rows.append(
            {
                "service": service,
                "servers": n,
                "load": load,
                "simulated": round(e.value * 1e-3, 6),
                "half_width": round(e.half_width * 1e-3, 6),
                "independent": round(truth, 6),
                "relative_error": round(error[service, n, load], 6),
            }
        )
    low_loads = [x for x in LOADS if x <= 0.3]

    def worst(n: int, loads: Any) -> str:
        return f"{max(abs(error[x, n, load]) for x in formulas for load in loads):.2%}"

    claims = [
        Claim(
            f"worst error, {n} servers: up to the threshold (load 0.3), and up to 0.45",
            said,
            f"{worst(n, low_loads)}, {worst(n, LOADS)}",
            note,
        )
        for n, said, note in (
            (10, "3 %", ""),
            (
                20,
                "below 0.1 %",
                "copies of one request meet in the same queues again and again; the error falls "
                "like 1 / servers here, so 20 servers halve it, they do not divide it by 30",
            ),
        )
    ]

    def draw(ax: list[Any]) -> None:
        for position, (service, n) in enumerate((x, n) for x in formulas for n in counts):
            ax[0].plot(
                LOADS,
                [100 * error[service, n, x] for x in LOADS],
                label=f"{'exponential' if service != CONST else 'deterministic'}, {n} servers",
                **style("", position),
            )
        ax[0].set_xlabel("load")
        ax[0].set_ylabel("simulated over independent - 1 (%)")

    return Figure("independence", "Accuracy of the independence approximation", rows, claims, draw)
