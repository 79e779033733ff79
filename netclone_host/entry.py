# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The commands from their first moment on: an interrupt while Python still imports what they need
ends them like one later."""

from __future__ import annotations

import sys
from typing import NoReturn

INTERRUPTED = 130


def host() -> None:
    """``netclone-host``."""
    _run("netclone_host.cli")


def loadgen() -> None:
    """``netclone-loadgen``."""
    _run("loadgen.cli")


def _run(package: str) -> None:
    try:
        import importlib

        command = importlib.import_module(package).main
    except KeyboardInterrupt:
        interrupted()
    command()


def interrupted() -> NoReturn:
    """Ends a command that was interrupted."""
    sys.stderr.write("interrupted\n")
    sys.exit(INTERRUPTED)
