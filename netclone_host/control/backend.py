# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a switch must be able to do for its tables to be kept in step with a plan."""

from __future__ import annotations

from typing import Protocol

from netclone_host.control.entries import Changes, Plan, difference


class Backend(Protocol):
    """One switch. Its errors are `UserError`s: not there, refused, full."""

    def read(self, desired: Plan) -> Plan:
        """What it holds of the tables that the control plane owns. Of what the data plane
        writes too (the forwarding cache), only the entries that `desired` names."""
        ...

    def write(self, changes: Changes) -> None:
        """Delete, then modify, then insert: a full table has room for its successor."""
        ...


def apply(backend: Backend, desired: Plan) -> Changes:
    """Bring the switch to the plan; returns what had to be changed for that."""
    changes = difference(backend.read(desired), desired)
    if changes:
        backend.write(changes)
    return changes
