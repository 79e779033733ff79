# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The steps that an action announces, and a process killed at one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from netclone_host import crash_points


def steps_of(action: Callable[[], object]) -> list[str]:
    """Every step that the action announces, in order."""
    seen: list[str] = []
    crash_points.on_step = seen.append
    try:
        action()
    finally:
        crash_points.on_step = None
    return seen


def die_at(position: int, action: Callable[[], object]) -> None:
    """Run the action in a child process that is killed at its step of this position."""
    child = os.fork()
    if child == 0:
        left = [position]

        def count(_step: str) -> None:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

        crash_points.on_step = count
        try:
            action()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
