# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files that the user names."""

from __future__ import annotations

import errno
import os
from pathlib import Path

MAX_BYTES = 256 << 20
"""More than any file of records or durations has: the path may lead to a device without end."""


def read_text(path: Path) -> str:
    """The whole file. Raises `OSError`, also for one of more than `MAX_BYTES`, and
    `UnicodeDecodeError`."""
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content.decode("utf-8")
