# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the extensions cost a switch that uses none of them.

The switch program as it is, with every extension compiled in, against the same text without
them (NC_PAPER_ONLY). Where in memory the kernel puts a program moves its time by several
nanoseconds, and so does whoever else uses the machine: both are loaded several times, and all
copies take turns in an order drawn anew for each round. A program's time is the mean of its
copies', a copy's the mean of the faster half of its rounds. Writes out/bench/extensions.json.
"""

from __future__ import annotations

import math
import random
import statistics
from contextlib import ExitStack
from pathlib import Path

from netclone_host.attach.roles import Role
from tests.bench import results
from tests.bench.xdp import Bench, PacketPath, paths, two_links

OUT = Path("out/bench/extensions.json")
PAPER_BUILD = "switch_paper"
COPIES = 8
ROUNDS = 60
SEED = 1
MOST_ADDED_NS = 3.0


def _copy_ns(rounds_ns: list[int]) -> float:
    """A busy machine only ever adds."""
    return statistics.fmean(sorted(rounds_ns)[: len(rounds_ns) // 2])


def _measure(path: PacketPath, copies: list[Bench], order: random.Random) -> list[float]:
    """ns of the path for each copy, in the order of `copies`."""
    rounds_ns: list[list[int]] = [[] for _ in copies]
    for _ in range(ROUNDS):
        for i in order.sample(range(len(copies)), len(copies)):
            rounds_ns[i].append(copies[i].round(path))
    return [_copy_ns(rounds) for rounds in rounds_ns]


def main() -> None:
    records = []
    order = random.Random(SEED)
    with two_links(), ExitStack() as stack:
        copies = [
            Bench(stack, {Role.SWITCH: PAPER_BUILD} if i % 2 else None) for i in range(2 * COPIES)
        ]
        print(f"{'path':<38}{'ns':>8}{'paper':>8}{'added':>8}  standard error")
        for path in (path for path in paths() if path.role is Role.SWITCH):
            times = _measure(path, copies, order)
            full, paper = times[::2], times[1::2]
            with_all, without = statistics.fmean(full), statistics.fmean(paper)
            error = math.sqrt(sum(statistics.variance(half) / COPIES for half in (full, paper)))
            print(
                f"{path.name:<38}{with_all:>8.1f}{without:>8.1f}{with_all - without:>8.1f}"
                f"  {error:.1f}"
            )
            records += [
                results.record(
                    path.name,
                    with_all,
                    "ns/packet",
                    "the same without the extensions (NC_PAPER_ONLY)",
                    without,
                ),
                results.record(
                    f"{path.name}: what the extensions add",
                    with_all - without,
                    "ns/packet",
                    "at most, where a request uses none",
                    MOST_ADDED_NS,
                ),
            ]
    results.write(OUT, records)


if __name__ == "__main__":
    results.run(main)
