# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`rack exec`: become a program that runs inside a node.

The node's own /sys is mounted, so that /sys/class/net lists the node's links, and what was
mounted below the old /sys (bpffs with the pins, cgroups) is bound into its place again.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from netclone_host.errors import UserError
from netclone_host.kernel import netns

_CLONE_NEWNS = 0x00020000
_MS_BIND = 4096
_MS_REC = 16384
_MS_SLAVE = 1 << 19

_libc = ctypes.CDLL(None, use_errno=True)


def run_inside(namespace: str, command: Sequence[str]) -> NoReturn:
    """Replace this process by `command` (found on the PATH) inside the namespace."""
    enter_for_good(namespace)
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        raise UserError(
            f"cannot run '{command[0]}': {error.strerror}",
            hint="give the name of a program on the PATH, after --",
        ) from None


def enter_for_good(namespace: str) -> None:
    """Move this process into the node, with the node's /sys; there is no way back."""
    netns.enter_for_good(namespace)
    if _libc.unshare(_CLONE_NEWNS) != 0:
        raise _failure("unshare the mounts")
    # Slave: mounts made here stay here, later mounts of the machine still arrive.
    _mount("none", "/", None, _MS_SLAVE | _MS_REC)
    below = _mounts_below_sys()
    kept = [(target, os.open(target, os.O_PATH | os.O_CLOEXEC)) for target in below]
    _mount("sysfs", "/sys", "sysfs", 0)
    for target, kept_fd in kept:
        if Path(target).is_dir():
            _mount(f"/proc/self/fd/{kept_fd}", target, None, _MS_BIND | _MS_REC)
        os.close(kept_fd)


def _mounts_below_sys() -> list[str]:
    """Mount points right below /sys; what is mounted inside them comes along with them."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    targets = {line.split()[4] for line in lines}
    below = sorted(target for target in targets if target.startswith("/sys/"))
    return [t for t in below if not any(t.startswith(f"{other}/") for other in below)]


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode() if kind else None, flags, None
    )
    if result != 0:
        raise _failure(f"mount {target}")


def _failure(what: str) -> UserError:
    reason = os.strerror(ctypes.get_errno())
    return UserError(f"cannot {what} for a node: {reason}", hint="run as root, with CAP_SYS_ADMIN")
