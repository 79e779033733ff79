# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The simulator against the software rack: `python -m loadgen.agreement`.

The rack runs real packets through the XDP programs, its services stretched in time; the
simulator runs the same workload. Takes five minutes (so it is no part of `make bench`) and
root, as the rack does. Writes the ratio of their percentiles to out/bench/agreement.json;
the goal is 1 within 10 %.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from loadgen.sim.model import Model, Point, RequestClass
from loadgen.sim.run import run_points
from loadgen.workload.records import RunRecord, read_json
from loadgen.workload.services import parse_workload
from loadgen.workload.user_files import atomic_file

TARGET = Path("out/bench/agreement.json")
SCHEMES, LOADS = ("baseline", "netclone"), (0.1, 0.3, 0.5)
SERVICE, JITTER = "exp:25us", "0.01x15"
TIME_SCALE, DURATION_S = 2000, 40
RACK = "from netclone_host.cli import main; main()"


def from_rack() -> list[RunRecord]:
    """Records of `rack run` over a rack of its own, which is removed again."""
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "rack.json"
        subprocess.run(
            [
                *(sys.executable, "-c", RACK, "rack", "run", "--name", f"agree{os.getpid()}"),
                *("--schemes", ",".join(SCHEMES), "--loads", ",".join(map(str, LOADS))),
                *("--service", SERVICE, "--jitter", JITTER, "--json", str(target)),
                *("--time-scale", str(TIME_SCALE), "--duration", f"{DURATION_S}s"),
            ],
            check=True,
        )
        return read_json(target)


def from_simulator(records: list[RunRecord]) -> list[RunRecord]:
    """The same points, simulated. Real links take next to nothing of stretched time."""
    model = Model(
        classes=(RequestClass(parse_workload(SERVICE, JITTER)),),
        link_ns=0.0,
        switch_ns=0.0,
        count_in_flight=True,
    )
    points = [Point(model, r.scheme, r.load, 1_000_000) for r in records]
    return [result.record() for result in run_points(points)]


def compare(rack: list[RunRecord], simulated: list[RunRecord]) -> list[dict[str, object]]:
    """Ratios as records of a benchmark."""
    return [
        {
            "name": f"rack over simulator, {real.scheme}, load {real.load:g}, {metric}",
            "value": round(getattr(real, f"{metric}_us") / getattr(model, f"{metric}_us"), 3),
            "unit": "ratio",
            "reference_name": "agreement",
            "reference_value": 1.0,
        }
        for real, model in zip(rack, simulated, strict=True)
        for metric in ("p50", "p99")
    ]


def main() -> None:
    if os.geteuid() != 0:
        print("agreement: the software rack needs root; left out")
        return
    rack = from_rack()
    records = compare(rack, from_simulator(rack))
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(TARGET) as out:
        out.write(json.dumps(records, indent=1) + "\n")
    for record in records:
        print(f"{record['name']:52} {record['value']}")


if __name__ == "__main__":
    main()
