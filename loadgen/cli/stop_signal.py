# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Waiting for the end: a duration, or a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def until_signal() -> Iterator[Callable[[float | None], object]]:
    """A function that returns after so many seconds, or as soon as SIGINT or SIGTERM has come
    since the block began: what runs inside it ends in order from its first moment on."""
    done = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        done.set()

    former = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield done.wait
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
