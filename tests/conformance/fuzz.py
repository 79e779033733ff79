# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs the fuzzers of xdp/native/fuzz: python -m tests.conformance.fuzz SECONDS

SECONDS for each of them. What they learn stays in build/fuzz/corpus; an input that breaks a
rule is written to out/fuzz.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.conformance import fuzz_seeds

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
TARGETS = ("parser", "switch", "server", "client")


@dataclass(frozen=True)
class Run:
    target: str
    failed: bool
    inputs: int
    """Inputs that were tried."""
    said: str


def build() -> None:
    """Compile the fuzzers and write the seeds. CalledProcessError if a fuzzer does not build."""
    subprocess.run(["make", "-s", "-C", ROOT / "xdp", f"BUILD={BUILD}", "fuzzers"], check=True)
    fuzz_seeds.write(BUILD / "fuzz/seeds")


def run(target: str, seconds: int) -> Run:
    learned, broken = BUILD / "fuzz/corpus" / target, ROOT / "out/fuzz"
    for directory in (learned, broken):
        directory.mkdir(parents=True, exist_ok=True)
    process = subprocess.run(
        [
            BUILD / "fuzz" / target,
            f"-max_total_time={seconds}",
            "-timeout=20",
            "-print_final_stats=1",
            "-verbosity=0",
            f"-artifact_prefix={broken}/{target}-",
            learned,
            BUILD / "fuzz/seeds" / target,
        ],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    counts = [line for line in process.stderr.splitlines() if "number_of_executed_units" in line]
    inputs = int(counts[0].split()[-1]) if counts else 0
    return Run(target, process.returncode != 0, inputs, process.stderr)


def main() -> int:
    seconds = int(sys.argv[1])
    build()
    broken = False
    for target in TARGETS:
        result = run(target, seconds)
        print(f"{target}: {result.inputs} inputs in {seconds} s", flush=True)
        if result.failed:
            print(result.said, file=sys.stderr)
            broken = True
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
