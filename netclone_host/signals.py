# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Signals end a command cleanly: from its first moment, and not in the middle of a change."""

from __future__ import annotations

import contextlib
import importlib
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
INTERRUPTED = 130


def run_command(package: str) -> None:
    """Import the package of a command line, which takes a moment, and run its `main`."""
    try:
        command = importlib.import_module(package).main
    except KeyboardInterrupt:
        interrupted()
    command()


def interrupted() -> NoReturn:
    """End a command that was interrupted."""
    sys.stderr.write("interrupted\n")
    sys.exit(INTERRUPTED)


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP are delivered when the block ends. SIGKILL does not wait."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
