# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the extensions cost a switch that uses none of them.

The switch program as it is, with every extension compiled in, against the same text without
them (NC_PAPER_ONLY), in turn in one run. Writes out/bench/extensions.json.
"""

from __future__ import annotations

import json
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

from netclone_host.bench_xdp import Bench, paths, two_links
from netclone_host.bpf.loader import Role
from netclone_host.cli import print_error
from netclone_host.errors import NetcloneError

OUT = Path("out/bench/extensions.json")
PAPER_BUILD = "switch_paper"
TURNS = 5


def main() -> None:
    records = []
    with two_links(), ExitStack() as stack:
        full = Bench(stack)
        paper = Bench(stack, {Role.SWITCH: PAPER_BUILD})
        print(f"{'path':<38}{'ns':>8}{'paper':>8}{'added':>8}")
        for path in (path for path in paths() if path.role is Role.SWITCH):
            added: dict[Bench, list[float]] = {full: [], paper: []}
            for _ in range(TURNS):
                for bench in (full, paper):
                    own, empty = bench.measure(path)
                    added[bench].append(own - empty)
            with_all, without = (statistics.median(added[bench]) for bench in (full, paper))
            print(f"{path.name:<38}{with_all:>8.1f}{without:>8.1f}{with_all - without:>8.1f}")
            records.append(
                {
                    "name": f"{path.name}: added to an empty program",
                    "value": with_all,
                    "unit": "ns/packet",
                    "reference_name": "the same without the extensions (NC_PAPER_ONLY)",
                    "reference_value": without,
                }
            )
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except NetcloneError as error:
        print_error(error)
        sys.exit(error.exit_status)
