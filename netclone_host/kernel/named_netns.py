# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Network namespaces: named, entered by a thread, removed by name.

`setns` acts on the calling thread alone, and a socket stays in the namespace in which it
was opened; so one process holds sockets of every node. /sys keeps showing the links of
the namespace in which it was mounted, and bpffs stays in sight (`ip netns exec` hides it).
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from pathlib import Path

from pyroute2 import netns as pyroute2_netns

from netclone_host.kernel.netns import NAMED, NetnsId, current, entered

__all__ = [
    "NETNS_DIR",
    "NetnsId",
    "create",
    "current",
    "enter_for_good",
    "entered",
    "identity",
    "is_namespace",
    "path_of",
    "processes_inside",
    "remove",
]

NETNS_DIR = NAMED
_CLONE_NEWNET = 0x40000000
_MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def path_of(name: str) -> Path:
    """Where the namespace is mounted."""
    return NETNS_DIR / name


def create(name: str) -> None:
    """Make a named namespace; FileExistsError if the name is taken."""
    if path_of(name).exists():
        raise FileExistsError(errno.EEXIST, "namespace exists", str(path_of(name)))
    pyroute2_netns.create(name)


def remove(name: str) -> None:
    """Unmount and unlink the name, also of one half made; nothing if there is none."""
    path = path_of(name)
    if not path.exists():
        return
    if _libc.umount2(os.fsencode(path), _MNT_DETACH) != 0:
        code = ctypes.get_errno()
        # EINVAL: the file is there, but a crash came before the mount.
        if code not in (errno.EINVAL, errno.ENOENT):
            raise OSError(code, os.strerror(code), str(path))
    path.unlink(missing_ok=True)


def identity(name: str) -> NetnsId | None:
    """Tells this namespace from a later one of the same name; None if there is none."""
    if not is_namespace(name):
        return None
    with entered(name):
        return current()


def is_namespace(name: str) -> bool:
    """Whether a namespace is mounted there (not the empty file of a half-made one)."""
    try:
        status = path_of(name).stat()
    except FileNotFoundError:
        return False
    here = Path("/proc/self/ns/net").stat()
    return stat.S_ISREG(status.st_mode) and status.st_dev == here.st_dev


def enter_for_good(name: str) -> None:
    """Move the calling thread into the namespace; there is no way back."""
    with path_of(name).open() as file:
        _check(_libc.setns(file.fileno(), _CLONE_NEWNET), "setns")


def processes_inside(name: str) -> list[int]:
    """Ids of processes whose network namespace is this one."""
    found = []
    namespace = path_of(name).stat()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "ns/net").stat()
        except OSError:
            continue
        if (status.st_dev, status.st_ino) == (namespace.st_dev, namespace.st_ino):
            found.append(int(entry.name))
    return sorted(found)
