# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Named steps of attach and of rack up, at which a test can let the process die.

`NETCLONE_CRASH_AT=<step>` kills it as abruptly as the kernel can (SIGKILL: no handler, no
clean-up); a test in the same process sets `on_step` instead.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

CRASH_AT = "NETCLONE_CRASH_AT"

on_step: Callable[[str], None] | None = None


def reached(step: str) -> None:
    """Called before and after everything that outlives the process."""
    if os.environ.get(CRASH_AT) == step:
        os.kill(os.getpid(), signal.SIGKILL)
    if on_step is not None:
        on_step(step)
