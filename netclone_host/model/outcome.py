# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What came of one packet: the frames that leave, and the counters that say why."""

from __future__ import annotations

from dataclasses import dataclass, field

LINUX = 0
"""Port of the node's own network stack: passed to it (ingress), sent by it (a host's egress)."""
WIRE = 1
"""A host's port on the network."""


@dataclass
class Outcome:
    frames: list[tuple[int, bytes]] = field(default_factory=list)  # (port, frame)
    counters: list[tuple[str, str]] = field(default_factory=list)  # (hook, counter)

    @classmethod
    def of(cls, hook: str, counter: str, *frames: tuple[int, bytes]) -> Outcome:
        return cls(list(frames), [(hook, counter)])

    def and_then(self, hook: str, counter: str, *frames: tuple[int, bytes]) -> Outcome:
        return Outcome([*self.frames, *frames], [*self.counters, (hook, counter)])
