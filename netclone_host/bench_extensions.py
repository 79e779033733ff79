# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the extensions cost a switch that uses none of them.

The switch program as it is, with every extension compiled in, against the same text without
them (NC_PAPER_ONLY), in turn in one run: the median of the differences within a turn, since one
measurement is off by some nanoseconds on a machine that others use. Writes
out/bench/extensions.json.
"""

from __future__ import annotations

import statistics
from contextlib import ExitStack
from pathlib import Path

from netclone_host import benchmarks
from netclone_host.bench_xdp import Bench, paths, two_links
from netclone_host.bpf.loader import Role

OUT = Path("out/bench/extensions.json")
PAPER_BUILD = "switch_paper"
TURNS = 20
MOST_ADDED_NS = 3.0


def main() -> None:
    records = []
    with two_links(), ExitStack() as stack:
        full = Bench(stack)
        paper = Bench(stack, {Role.SWITCH: PAPER_BUILD})
        print(f"{'path':<38}{'ns':>8}{'paper':>8}{'added':>8}  quartiles")
        for path in (path for path in paths() if path.role is Role.SWITCH):
            added: dict[Bench, list[float]] = {full: [], paper: []}
            for turn in range(TURNS):  # neither always comes first
                for bench in (full, paper) if turn % 2 else (paper, full):
                    own, empty = bench.measure(path)
                    added[bench].append(own - empty)
            with_all, without = (statistics.median(added[bench]) for bench in (full, paper))
            pairs = zip(added[full], added[paper], strict=True)
            lower, median, upper = statistics.quantiles((a - b for a, b in pairs), n=4)
            print(
                f"{path.name:<38}{with_all:>8.1f}{without:>8.1f}{median:>8.1f}"
                f"  {lower:.1f} .. {upper:.1f}"
            )
            records += [
                benchmarks.record(
                    f"{path.name}: added to an empty program",
                    with_all,
                    "ns/packet",
                    "the same without the extensions (NC_PAPER_ONLY)",
                    without,
                ),
                benchmarks.record(
                    f"{path.name}: what the extensions add",
                    median,
                    "ns/packet, median of turns",
                    "at most, where a request uses none",
                    MOST_ADDED_NS,
                ),
            ]
    benchmarks.write(OUT, records)


if __name__ == "__main__":
    benchmarks.run(main)
