# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two builds of the programs against each other: python -m tests.bench.compare OLD [NEW]

OLD and NEW are directories of objects, as `make build` leaves them in build/bpf (the default of
NEW). Where in memory the kernel puts a program moves its time by several nanoseconds, and so
does whoever else uses the machine: both builds are loaded several times, and all copies take
turns in a random order, drawn for each round. The time of a build is the mean of its copies',
that of a copy the mean of the faster half of its rounds. Writes out/bench/compare.json.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from netclone_host.attach.loaders.libbpf import OBJECT_DIR
from netclone_host.attach.roles import Role
from netclone_host.wire import Flag, Header
from tests.bench import results
from tests.bench.xdp import Bench, PacketPath, load_harness, paths, request_frame, two_links

OUT = Path("out/bench/compare.json")
COPIES = 20
ROUNDS = 40
SEED = 1


@dataclass(frozen=True)
class Comparison:
    """ns of a path in two builds, and the standard error of their difference."""

    old_ns: float
    new_ns: float
    error_ns: float

    @property
    def added_ns(self) -> float:
        return self.new_ns - self.old_ns


def _copy_ns(rounds_ns: list[int]) -> float:
    """A busy machine only ever adds."""
    return statistics.fmean(sorted(rounds_ns)[: len(rounds_ns) // 2])


def compare(
    path: PacketPath,
    old: Sequence[Bench],
    new: Sequence[Bench],
    rounds: int,
    order: random.Random,
) -> Comparison:
    copies = [*old, *new]
    rounds_ns: list[list[int]] = [[] for _ in copies]
    for _ in range(rounds):
        for i in order.sample(range(len(copies)), len(copies)):
            rounds_ns[i].append(copies[i].round(path))
    times = [_copy_ns(each) for each in rounds_ns]
    halves = times[: len(old)], times[len(old) :]
    error = math.sqrt(sum(statistics.variance(half) / len(half) for half in halves))
    return Comparison(statistics.fmean(halves[0]), statistics.fmean(halves[1]), error)


def _full_paths() -> list[PacketPath]:
    """Requests that ask for an extension: an id of the client's."""
    header = Header(grp=1, req_id=7, client_id=1, flags=Flag.CLIENT_ID_VALID)
    by_name = {path.name: path for path in paths()}
    return [
        replace(
            by_name[f"switch: request, {outcome}"],
            name=f"switch: request, {outcome}, full path",
            frame=request_frame(header),
        )
        for outcome in ("not cloned", "cloned")
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=OBJECT_DIR)
    parser.add_argument("--copies", type=int, default=COPIES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="paths whose name contains this")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    order = random.Random(SEED)
    records = []
    with two_links(), ExitStack() as stack:
        harness = load_harness(stack)
        builds: dict[Path, list[Bench]] = {arguments.old: [], arguments.new: []}
        for _ in range(arguments.copies):
            for directory, copies in builds.items():
                objects = {role: str(directory.resolve() / role.value) for role in Role}
                copies.append(Bench(stack, objects, harness))
        print(f"{'path':<38}{'old':>8}{'new':>8}{'added':>8}  standard error")
        for path in [*paths(), *_full_paths()]:
            if arguments.only not in path.name:
                continue
            found = compare(path, *builds.values(), arguments.rounds, order)
            print(
                f"{path.name:<38}{found.old_ns:>8.1f}{found.new_ns:>8.1f}"
                f"{found.added_ns:>8.2f}  {found.error_ns:.2f}",
                flush=True,
            )
            records.append(
                results.record(path.name, found.new_ns, "ns/packet", "the old build", found.old_ns)
            )
    results.write(OUT, records)


if __name__ == "__main__":
    results.run(main)
