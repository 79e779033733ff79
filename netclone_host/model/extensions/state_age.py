# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The age of a state: where a candidate is passed over for its state [line 6] (RackSched, reserve
rule), a state that has not changed for a timeout is forgotten. A server whose last response said
"busy", and whose later requests were lost, is asked again."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class StateAges:
    timeout_ns: int
    """0: states do not age."""
    passed_over: dict[int, tuple[int, int]] = field(default_factory=dict)
    """SID: (state, since when in ns it has been passed over for it)"""

    def pass_over(self, sid: int, states: dict[int, int], now_ns: int) -> bool:
        """Note that sid is not asked because of its state. True: the state is forgotten."""
        if not self.timeout_ns:
            return False
        state, since_ns = self.passed_over.get(sid, (None, 0))
        if state != states[sid]:
            self.passed_over[sid] = states[sid], now_ns
            return False
        if now_ns - since_ns <= self.timeout_ns:
            return False
        states[sid] = 0
        del self.passed_over[sid]
        return True
