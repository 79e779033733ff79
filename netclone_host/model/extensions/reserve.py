# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The reserve rule, beyond the paper (docs/data-plane.md): another rule for [lines 5-6], and
another meaning of STATE in [lines 15-16]."""

from __future__ import annotations

from dataclasses import dataclass

ONE = 1 << 16
REFUSES_CLONES, LOAD_MASK = 1 << 31, (1 << 31) - 1


def choose(first: int, second: int, states: dict[int, int]) -> tuple[int, bool]:
    """(server with most room, cloned?); cloned if neither refuses clones. The states of those
    that are sent something grow by 1."""
    state = {sid: states.get(sid, 0) for sid in (first, second)}
    load = {sid: word & LOAD_MASK for sid, word in state.items()}
    chosen = second if load[second] < load[first] else first
    cloned = not any(word & REFUSES_CLONES for word in state.values())
    for sid in (first, second) if cloned else (chosen,):
        if load[sid] < LOAD_MASK:
            states[sid] = state[sid] + 1
    return chosen, cloned


@dataclass
class Averages:
    """A server's moving averages, in 1/65536."""

    busy: int = 0
    """workers that an original finds busy"""
    originals: int = 0
    """share of the admitted requests that are originals"""

    def note(self, clone: bool, busy_workers: int) -> None:
        self.originals = averaged(self.originals, 0 if clone else ONE)
        if not clone:
            self.busy = averaged(self.busy, busy_workers * ONE)

    def reserved(self, workers: int, req_id: int) -> int:
        """Workers kept for originals: three quarters of those that originals keep busy beyond
        21/32 of all, rounded at random by the id."""
        beyond = (self.busy * self.originals >> 16) - workers * 21 * ONE // 32
        if beyond <= 0:
            return 0
        dither = req_id * 0x9E3779B1 % (1 << 32) >> 16
        return (beyond * 3 // 4 + dither) // ONE


def averaged(average: int, sample: int) -> int:
    """A moving average that reaches back about 512 samples."""
    return average + (sample - average >> 9)


def state_word(held: int, workers: int, refuses: bool) -> int:
    """STATE under the reserve rule."""
    return (ONE + held - workers) % (1 << 32) | (REFUSES_CLONES if refuses else 0)
