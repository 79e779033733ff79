# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How fast the simulator is, on one core: `python -m loadgen.bench_simulator`.

The record's figures are of processor time, the best of several passes: what other work on
the machine takes away is not the simulator's.
"""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

from loadgen.sim.model import Model, Point, RequestClass
from loadgen.sim.run import run_replication
from loadgen.workload.schemes import SCHEMES
from loadgen.workload.services import parse_workload
from loadgen.workload.user_files import atomic_file

TARGET = Path("out/bench/simulator.json")
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
    records = [
        {
            "name": f"simulated requests, {scheme}, 6 x 15, load 0.5",
            "value": round(requests_per_second(scheme, 0.5)),
            "unit": "requests/s/core",
            "reference_name": "goal" if scheme != "baseline" else "untuned prototype (netclone)",
            "reference_value": GOAL_RPS if scheme != "baseline" else PROTOTYPE_RPS,
        }
        for scheme in SCHEMES
        if scheme not in ("c-clone", "laedge")  # overloaded at 0.5
    ]
    records.append(
        {
            "name": "peak memory added by ten times the requests",
            "value": memory_growth_kb(),
            "unit": "kB",
            "reference_name": "none",
            "reference_value": 0,
        }
    )
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(TARGET) as out:
        out.write(json.dumps(records, indent=1) + "\n")
    for record in records:
        print(f"{record['name']:55} {record['value']:>12,} {record['unit']}")


if __name__ == "__main__":
    main()
