# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How much each data plane has room for, and the check that a plan fits.

The numbers of the P4 programs are mirrored from p4/shared/limits.p4 and the tables'
declarations; tests/p4/test_lint.py holds them against that text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from netclone_host.control.entries import Plan
from netclone_host.errors import UserError

FILTER_SLOTS = 1 << 17
TOFINO_FILTER_TABLES = 2
BMV2_FILTER_TABLES = 4

P4_TABLES: Mapping[str, int] = {
    "destination_ports": 8,
    "source_ports": 8,
    "groups": 65280,
    "filter_tables": 16,
    "switch_ids": 4,
    "sources_v4": 256,
    "sources_v6": 256,
    "addresses_v4": 256,
    "addresses_v6": 256,
    "hosts": 1024,
    "stations": 64,
    "routes_v4": 512,
    "routes_v6": 512,
}
"""Table of the P4 programs (last part of its name) -> entries that it has room for."""


@dataclass(frozen=True)
class Limits:
    """Sizes of one data plane."""

    tables: Mapping[str, int]
    filter_tables: int
    multicast_ids: int
    """Group ids are below this number."""
    multicast_replicas: int


BMV2 = Limits(P4_TABLES, BMV2_FILTER_TABLES, multicast_ids=1 << 16, multicast_replicas=4096)
TOFINO = Limits(P4_TABLES, TOFINO_FILTER_TABLES, multicast_ids=1 << 16, multicast_replicas=288)


def check(plan: Plan, limits: Limits) -> None:
    """UserError, naming table and limit, if the plan does not fit."""
    used = Counter(key.table for key in plan.entries if key.match)
    for table, count in used.items():
        size = limits.tables.get(table.rpartition(".")[2])
        if size is not None and count > size:
            raise UserError(
                f"table {table} holds {size} entries, the topology needs {count}",
                hint="take hosts or servers out of the topology file, or compile the program "
                "with a larger table",
            )
    for group, replicas in plan.multicast.items():
        if not 0 < group < limits.multicast_ids:
            raise UserError(
                f"multicast group {group} is out of range, ids are below {limits.multicast_ids}",
                hint="server ids are 0 .. 255",
            )
        if len(replicas) > limits.multicast_replicas:
            raise UserError(
                f"multicast group {group} has room for {limits.multicast_replicas} ports, the "
                f"topology needs {len(replicas)}",
                hint="take hosts out of the topology file",
            )


def check_filter_tables(count: int, limits: Limits) -> None:
    """Filter tables are registers: their number is compiled in."""
    if count > limits.filter_tables:
        raise UserError(
            f"register filter has {limits.filter_tables} tables, the topology wants {count}",
            hint=f"set filter_tables = {limits.filter_tables} or less in [switch], or compile the "
            f"program with -DNETCLONE_FILTER_TABLES={count}",
        )
