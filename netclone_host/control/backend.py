# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a switch must offer so that its tables can be brought to a plan."""

from __future__ import annotations

from typing import Protocol

from netclone_host.control.entries import Changes, Plan, difference


class Backend(Protocol):
    """One switch. Its errors are `UserError`s: unreachable, refused, full."""

    def read(self, desired: Plan) -> Plan:
        """What it holds in the tables of the control plane; in those that the data plane writes,
        too (the forwarding cache), only the entries that `desired` names."""
        ...

    def write(self, changes: Changes) -> None:
        """Delete, then modify, then insert, so that a full table makes room first."""
        ...


def apply(backend: Backend, desired: Plan) -> Changes:
    """Bring the switch to the plan; returns what had to change."""
    changes = difference(backend.read(desired), desired)
    if changes:
        backend.write(changes)
    return changes
