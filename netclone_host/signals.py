# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Requests to end that wait until something is whole again."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """A request to end is heard at the end of the block. SIGKILL waits for nothing."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
