# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Refusals of the operating system as errors with a hint, the same wherever they come up."""

from __future__ import annotations

import errno
import os
import sys

from netclone_host.errors import NetcloneError, PrivilegeError, UserError

_HINTS = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EFBIG: "raise the limit of a file's size (ulimit -f)",
    errno.ENOTDIR: "something else stands where a directory has to be: take it away",
    errno.EEXIST: "something else stands there: take it away",
    errno.EROFS: "mount it writable, or name another place",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the limit of open files (sysctl fs.file-max)",
    errno.ENOMEM: "end something else that takes memory",
}


def refusal(error: Exception) -> NetcloneError | None:
    """The refusal as an error of ours; None if `error` is something else."""
    netlink = sys.modules.get("pyroute2.netlink.exceptions")
    if netlink is not None and isinstance(error, netlink.NetlinkError):
        error = OSError(error.code, os.strerror(error.code))
    # click knows what to do about a pipe whose reader is gone.
    if not isinstance(error, OSError) or error.errno == errno.EPIPE:
        return None
    where = f" ({error.filename})" if error.filename else ""
    if isinstance(error, PermissionError):
        return PrivilegeError(f"this needs more privilege{where}", hint="run it with sudo")
    return UserError(
        f"the system refused: {error.strerror or error}{where}",
        hint=hint_for(error)
        or "'netclone-host doctor' shows what this machine can do; -v shows where this came from",
    )


def hint_for(error: OSError) -> str | None:
    """What helps where a limit was hit or a place does not suit; None if that depends."""
    return _HINTS.get(error.errno or 0)
