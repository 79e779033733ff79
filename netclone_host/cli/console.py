# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where tables are printed."""

from __future__ import annotations

from rich.console import Console

_PIPE_WIDTH = 160


def console() -> Console:
    """Standard output. Where it is no screen there is no width to fit: lines stay whole."""
    made = Console(soft_wrap=True)
    if not made.is_terminal:
        made.width = _PIPE_WIDTH
    return made
