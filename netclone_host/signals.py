# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Signals held back until a change is complete."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP are delivered when the block ends. SIGKILL does not wait."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
