# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RackSched (section 3.7): where [line 6] says no, the shorter queue in place of the first
candidate of [line 5]."""

from __future__ import annotations


def shorter(first: int, second: int, states: dict[int, int]) -> int:
    """The candidate with the smaller state; the first if they are equal."""
    return second if states.get(second, 0) < states.get(first, 0) else first
