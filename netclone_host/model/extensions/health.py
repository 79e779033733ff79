# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Failure detection (docs/data-plane.md): before [line 6], a failed candidate is left out;
after [line 16], a response clears what its server owes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Health:
    """Unanswered requests of one server. Times in ns; None: never."""

    owing_since_ns: int | None = None
    owed: int = 0
    probe_counted_from_ns: int | None = None


@dataclass
class HealthTable:
    timeout_ns: int
    """0: no server ever counts as failed."""
    entries: dict[int, Health] = field(default_factory=dict)

    def note_sent(self, sid: int, now_ns: int) -> None:
        if not self.timeout_ns:
            return
        health = self.entries.setdefault(sid, Health())
        health.owed += 1
        if health.owing_since_ns is None:
            health.owing_since_ns = now_ns

    def note_heard(self, sid: int) -> None:
        self.entries.pop(sid, None)

    def is_failed(self, sid: int, now_ns: int) -> bool:
        since = self.entries.get(sid, Health()).owing_since_ns
        return bool(self.timeout_ns) and since is not None and now_ns - since > self.timeout_ns

    def is_probe_due(self, sid: int, now_ns: int) -> bool:
        """Once a timeout, counted from when the server was first found failed."""
        health = self.entries[sid]
        if health.probe_counted_from_ns is None:
            health.probe_counted_from_ns = now_ns
            return False
        if now_ns - health.probe_counted_from_ns <= self.timeout_ns:
            return False
        health.probe_counted_from_ns = now_ns
        return True

    def owed(self) -> Iterator[tuple[int, int]]:
        for sid, health in self.entries.items():
            yield sid, health.owed
