# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `rack up` has created so far, recorded before it is created.

Each rack has a directory /run/netclone/rack/NAME with its topology and its journal; `rack down`
undoes the journal backwards. A record precedes its step, so that a crash in the middle leaves a
trace. A namespace has a second record with its identity after it was created, so that a later
namespace of the same name is left alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from netclone_host import crash_points

RACKS_DIR = Path("/run/netclone/rack")

Record = dict[str, Any]


class Step:
    """Kinds of records."""

    NETNS = "netns"  # about to create namespace `name`
    NETNS_DONE = "netns_done"  # created, with its `identity`
    ATTACH = "attach"  # about to attach programs in namespace `name`
    BMV2 = "bmv2"  # about to run simple_switch in namespace `name`
    RACKS = "racks"  # `count` switches instead of one
    UP = "up"  # the rack is complete


class Journal:
    """The journal of one rack."""

    def __init__(self, rack: str) -> None:
        self.directory = RACKS_DIR / rack
        self.path = self.directory / "journal.jsonl"
        self.topology_path = self.directory / "topology.toml"

    @property
    def exists(self) -> bool:
        """Whether anything of the rack may exist."""
        return self.directory.exists()

    def begin(self) -> None:
        """Start the journal of a new rack."""
        self.directory.mkdir(parents=True)
        self.path.touch()

    def record(self, step: str, **values: object) -> None:
        """Append a record; it is in the file when this returns."""
        entry: Record = {"step": step, **values}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        crash_points.reached(f"rack-{step}-{values.get('name', '')}")

    def records(self) -> list[Record]:
        """All records, oldest first, without a last line that a crash cut short."""
        if not self.path.exists():
            return []
        found = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return found

    @property
    def complete(self) -> bool:
        """Whether `rack up` finished."""
        return any(record["step"] == Step.UP for record in self.records())

    @property
    def has_bmv2(self) -> bool:
        """Whether the switch of the rack is simple_switch."""
        return any(record["step"] == Step.BMV2 for record in self.records())

    def end(self) -> None:
        """Forget the rack, once nothing is left of it."""
        shutil.rmtree(self.directory, ignore_errors=True)


@contextmanager
def locked(rack: str) -> Iterator[None]:
    """One command at a time changes a rack."""
    RACKS_DIR.mkdir(parents=True, exist_ok=True)
    path = RACKS_DIR / f".{rack}.lock"
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        # The previous holder unlinked the file: then this lock is of a file that nobody finds.
        if path.exists() and path.stat().st_ino == os.fstat(fd).st_ino:
            break
        os.close(fd)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(fd)


def rack_names() -> list[str]:
    """Names of the racks that are up, or that a crash left behind."""
    if not RACKS_DIR.exists():
        return []
    return sorted(entry.name for entry in RACKS_DIR.iterdir() if entry.is_dir())
