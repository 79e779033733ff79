# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How fast the simulator is, on one core, in processor time, the best of several passes: what other
work on the machine takes away is not the simulator's. Writes out/bench/simulator.json."""

from __future__ import annotations

import resource
import time
from pathlib import Path

from loadgen.sim.model import Model, Point, RequestClass
from loadgen.sim.run import run_replication
from loadgen.workload.schemes import SCHEMES
from loadgen.workload.services import parse_workload
from tests.bench import results

OUT = Path("out/bench/simulator.json")
PASSES = 16
REQUESTS = 250_000
PROTOTYPE_RPS = 2.2e6
"""A throw-away, untuned C program of the same model, netclone at load 0.5."""
GOAL_RPS = 3e6


def requests_per_second(
    scheme: str, load: float, requests: int = REQUESTS, passes: int = PASSES
) -> float:
    """Simulated requests per second of processor time, warm-up included; best of `passes`."""
    model = Model(classes=(RequestClass(parse_workload("exp:25us", "0.01x15")),))
    best = 0.0
    for number in range(passes):
        point = Point(model, scheme, load, requests, 1, seed=number)
        start = time.process_time()
        replication = run_replication(point, 0)
        best = max(best, replication.counts["total_requests"] / (time.process_time() - start))
    return best


def memory_growth_kb() -> int:
    """By how much ten times the requests raise the process's peak memory."""
    requests_per_second("netclone", 0.5, REQUESTS, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    requests_per_second("netclone", 0.5, REQUESTS * 10, 1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def main() -> None:
    records = []
    for scheme in SCHEMES:
        if scheme in ("c-clone", "laedge"):
            continue  # overloaded at 0.5
        reference = ("goal", GOAL_RPS)
        if scheme == "baseline":
            reference = ("untuned prototype (netclone)", PROTOTYPE_RPS)
        records.append(
            results.record(
                f"simulated requests, {scheme}, 6 x 15, load 0.5",
                round(requests_per_second(scheme, 0.5)),
                "requests/s/core",
                *reference,
            )
        )
    name = "peak memory added by ten times the requests"
    records.append(results.record(name, memory_growth_kb(), "kB", "none", 0))
    results.write(OUT, records)
    for record in records:
        print(f"{record['name']:55} {record['value']:>12,} {record['unit']}")


if __name__ == "__main__":
    results.run(main)
