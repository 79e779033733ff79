# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where a rack's servers write the length of their queue (`--state app`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from netclone_host.attach.tables import MapName
from netclone_host.kernel import objects
from netclone_host.rack import programs
from netclone_host.rack.plan import Plan


@contextmanager
def app_state_fds(plan: Plan) -> Iterator[list[int | None]]:
    """For each server, in order: the array with its queue length, or None where its program
    counts by itself. Open within the block."""
    attachments = programs.require_attached(plan)
    with ExitStack() as undo:
        fds: list[int | None] = []
        for node in plan.servers:
            attachment = attachments[node.name]
            if attachment.settings.get("state") != "app":
                fds.append(None)
                continue
            fd = objects.open_pin(Path(attachment.pin_dir) / MapName.APP_STATE)
            undo.callback(os.close, fd)
            fds.append(fd)
        yield fds
