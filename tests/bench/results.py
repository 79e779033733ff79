# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the benchmarks share: their records, and how they end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from netclone_host.cli import print_error
from netclone_host.errors import NetcloneError

Record = dict[str, Any]


def record(
    name: str, value: float, unit: str, reference_name: str, reference_value: float
) -> Record:
    """One measured value beside what it is to be compared with, in the same unit."""
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "reference_name": reference_name,
        "reference_value": reference_value,
    }


def write(path: Path, records: Sequence[Record]) -> None:
    """The list of records, as JSON; the directory is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def run(main: Callable[[], None]) -> None:
    """Run a benchmark; an error that a user can mend is two lines and an exit status."""
    try:
        main()
    except NetcloneError as error:
        print_error(error)
        sys.exit(error.exit_status)
