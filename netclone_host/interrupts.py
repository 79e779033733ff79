# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An interrupt ends a command cleanly from the first moment, even while Python still imports
what the command needs."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

INTERRUPTED = 130


def run_command(package: str) -> None:
    """Import the package of a command line and run its `main`."""
    try:
        command = importlib.import_module(package).main
    except KeyboardInterrupt:
        interrupted()
    command()


def interrupted() -> NoReturn:
    """End a command that was interrupted."""
    sys.stderr.write("interrupted\n")
    sys.exit(INTERRUPTED)
