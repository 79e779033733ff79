# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Time that the machine took from a hot loop."""

from __future__ import annotations

import ctypes


class Stalls(ctypes.Structure):
    """`struct lg_stalls`: time in which a thread did not run although it was to."""

    longest_ns: int

    _fields_ = [
        ("count", ctypes.c_uint64),
        ("total_ns", ctypes.c_uint64),
        ("longest_ns", ctypes.c_uint64),
        ("held", ctypes.c_uint64),
        ("held_ns", ctypes.c_uint64),
        ("until_ns", ctypes.c_uint64),
        ("since_ns", ctypes.c_uint64),
        ("cpu_ns", ctypes.c_uint64),
    ]

    def merge(self, other: Stalls) -> None:
        """Adds the stalls of `other`."""
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        for name in ("count", "total_ns", "held", "held_ns"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def describe(self, held: str) -> str:
        """A sentence; `held`: what `held` counts, such as "sends"."""
        times = "once" if self.count == 1 else f"{self.count} times"
        return (
            f"the machine stood still {times}, {self.longest_ns * 1e-6:.1f} ms at the longest, "
            f"{self.total_ns * 1e-6:.0f} ms in all; that held {self.held} {held}"
        )
