# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files that the user names: read with a limit, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from netclone_host.errors import UserError

MAX_BYTES = 256 << 20
"""More than any file of records or durations holds; the path may lead to an endless device."""


def read_text(path: Path) -> str:
    """The whole file. Raises `OSError`, also for one of more than `MAX_BYTES`, and
    `UnicodeDecodeError`."""
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content.decode("utf-8")


def _is_special(path: Path) -> bool:
    """A device, a pipe or a socket: written to, and never replaced by a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


def require_writable(path: Path, *, directory: bool = False) -> None:
    """`UserError` if no file could be written to `path` now, or, with `directory`, no file in it
    (created if need be). Called before a measurement, not after it."""
    problem = ""
    target = Path(os.path.realpath(path))
    holds = target if directory and target.exists() else target.parent
    if not holds.is_dir():
        problem = f"'{holds}' is no directory" if holds.exists() else f"there is no '{holds}'"
    elif not directory and target.is_dir():
        problem = "it is a directory"
    elif _is_special(target):
        problem = "" if os.access(target, os.W_OK) else os.strerror(errno.EACCES)
    else:
        try:
            with tempfile.TemporaryFile(dir=holds):
                pass
        except OSError as error:
            problem = error.strerror or str(error)
    if problem:
        raise UserError(f"cannot write '{path}': {problem}", "choose another place")


@contextlib.contextmanager
def atomic_file(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file that appears under `path` only when it is complete.

    Written beside it, synced, then renamed; a link stays, and what it points to is replaced. A
    device or a pipe is written to directly. Raises `UserError` (disk full, no permission) and
    leaves what was there before.
    """
    target = Path(os.path.realpath(path))
    try:
        if _is_special(target):
            with target.open(mode) as out:
                yield out
            return
        with _renamed_at_the_end(target, mode) as out:
            yield out
    except OSError as error:
        raise UserError(
            f"cannot write '{path}': {error.strerror}", "nothing was written; choose another place"
        ) from error


@contextlib.contextmanager
def _renamed_at_the_end(path: Path, mode: str) -> Iterator[IO[Any]]:
    permissions = path.stat().st_mode & 0o777 if path.exists() else 0o644
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, mode) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(permissions)
        Path(temporary).replace(path)
        temporary = None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
