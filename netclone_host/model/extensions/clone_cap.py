# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A cap on cloning: [line 7] only while the share of cloned requests allows it. A bucket of tokens,
filled by requests and not by time."""

from __future__ import annotations

from dataclasses import dataclass

ONE = 1 << 16
BURST = 64 * ONE


@dataclass
class CloneCap:
    share: int = 0
    """In 1/65536; 0: no cap."""
    tokens: int = 0

    def allows(self, wanted: bool) -> bool:
        """Every request that could be cloned brings its share; a clone takes one."""
        if not self.share:
            return True
        self.tokens = min(self.tokens + self.share, BURST)
        if not wanted or self.tokens < ONE:
            return False
        self.tokens -= ONE
        return True
