# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the extensions cost a switch that uses none of them.

The switch program as it is, with every extension compiled in, against the same text without
them (NC_PAPER_ONLY), measured as `compare` does. Writes out/bench/extensions.json.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path

from netclone_host.attach.roles import Role
from tests.bench import results
from tests.bench.compare import compare
from tests.bench.xdp import Bench, load_harness, paths, two_links

OUT = Path("out/bench/extensions.json")
PAPER_BUILD = "switch_paper"
COPIES = 8
ROUNDS = 60
SEED = 1
MOST_ADDED_NS = 3.0


def main() -> None:
    records = []
    order = random.Random(SEED)
    with two_links(), ExitStack() as stack:
        harness = load_harness(stack)
        paper, full = [], []
        for _ in range(COPIES):
            paper.append(Bench(stack, {Role.SWITCH: PAPER_BUILD}, harness))
            full.append(Bench(stack, None, harness))
        print(f"{'path':<38}{'ns':>8}{'paper':>8}{'added':>8}  standard error")
        for path in (path for path in paths() if path.role is Role.SWITCH):
            found = compare(path, paper, full, ROUNDS, order)
            print(
                f"{path.name:<38}{found.new_ns:>8.1f}{found.old_ns:>8.1f}"
                f"{found.added_ns:>8.1f}  {found.error_ns:.1f}"
            )
            records += [
                results.record(
                    path.name,
                    found.new_ns,
                    "ns/packet",
                    "the same without the extensions (NC_PAPER_ONLY)",
                    found.old_ns,
                ),
                results.record(
                    f"{path.name}: what the extensions add",
                    found.added_ns,
                    "ns/packet",
                    "at most, where a request uses none",
                    MOST_ADDED_NS,
                ),
            ]
    results.write(OUT, records)


if __name__ == "__main__":
    results.run(main)
