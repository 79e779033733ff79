# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Counters of all programs of a rack, by node, hook and reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netclone_host import counters
from netclone_host.attach import status
from netclone_host.closeable import Closeable
from netclone_host.rack import programs
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan

if TYPE_CHECKING:
    from netclone_host.rack.bmv2_live import Counters as P4Counters

Snapshot = Mapping[str, int]
"""`<node>.<hook>.<reason>` -> packets, such as `sw.ingress.cloned`; zeros left out."""


class Counting(Closeable):
    """Reads the counters of a rack whose programs are attached."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        # The switch comes first: it counts what is sent while the others are read.
        attachments = programs.require_attached(plan)
        first = [switch.name for switch in plan.switches]
        self._p4: P4Counters | None = None
        if Journal(plan.name).has_bmv2:
            from netclone_host.rack.bmv2_live import Counters  # with the P4 control plane

            self._p4, first = Counters(plan), []
        self._attachments = {name: attachments[name] for name in [*first, *attachments]}
        self._roles = {name: entry.role for name, entry in self._attachments.items()}
        self._roles |= {switch.name: "switch" for switch in plan.switches}

    def close(self) -> None:
        if self._p4 is not None:
            self._p4.close()

    def snapshot(self) -> Snapshot:
        """All counters now, zeros left out."""
        counted = {} if self._p4 is None else self._p4.read()
        for name, attachment in self._attachments.items():
            for hook, table in status.read_counters(attachment).items():
                for reason, value in counters.nonzero(table).items():
                    counted[f"{name}.{hook.label}.{reason}"] = value
        return counted

    def total(self, counted: Snapshot, role: str, hook: str, reason: str) -> int:
        """Sum of one reason over all nodes of a role (`switch`, `server`, `client`)."""
        names = [name for name, its_role in self._roles.items() if its_role == role]
        return sum(counted.get(f"{name}.{hook}.{reason}", 0) for name in names)


def difference(after: Snapshot, before: Snapshot) -> dict[str, int]:
    """What was counted in between, zeros left out."""
    changed = {name: value - before.get(name, 0) for name, value in after.items()}
    return {name: value for name, value in changed.items() if value}
