# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the compiled code is, and libloadgen.so.

Calls into it release the interpreter's lock, so that hot loops run in ordinary threads.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

from netclone_host.errors import UserError


def build_directory() -> Path:
    """Where what is compiled is; `NETCLONE_BUILD` names another place than build/."""
    build = os.environ.get("NETCLONE_BUILD")
    return Path(build) if build else Path(__file__).resolve().parents[2] / "build"


def library_path(name: str) -> Path:
    """Path of native/lib`name`.so in the build directory.

    Raises `UserError` when it is not built.
    """
    path = build_directory() / "native" / f"lib{name}.so"
    if not path.is_file():
        raise UserError(f"{path} is not there", "run 'make build' in the project's directory")
    return path


@functools.cache
def library() -> ctypes.CDLL:
    """libloadgen.so. Raises `UserError` when it is not built."""
    return ctypes.CDLL(str(library_path("loadgen")))


def outdated() -> UserError:
    """A library whose structs have other sizes than their mirrors in Python."""
    return UserError("build/native is older than the Python code", "run 'make build'")
