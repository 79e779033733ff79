# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Named steps at which a test can make attach, or rack up, die.

`NETCLONE_CRASH_AT=<step>` kills it as abruptly as the kernel can (SIGKILL: no handler, no
clean-up). A test in the same process sets `on_step` instead.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

CRASH_AT = "NETCLONE_CRASH_AT"

on_step: Callable[[str], None] | None = None


def reached(step: str) -> None:
    """Call it before and after each step whose effect outlives the process."""
    if os.environ.get(CRASH_AT) == step:
        os.kill(os.getpid(), signal.SIGKILL)
    if on_step is not None:
        on_step(step)
