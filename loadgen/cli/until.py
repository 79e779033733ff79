# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Waiting for the end: a duration, or a signal."""

from __future__ import annotations

import signal
import threading
from types import FrameType


def wait_until_signal(duration_s: float | None) -> None:
    """Returns after `duration_s`, or when SIGINT or SIGTERM comes."""
    done = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        done.set()

    former = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        done.wait(duration_s)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
