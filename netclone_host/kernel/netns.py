# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Network namespaces: which one this thread is in, how to be in another, and those with names.

`setns` acts on the calling thread alone, and a socket stays in the namespace in which it
was opened; so one process holds sockets of many. Only the network namespace changes:
/sys keeps showing the links of the namespace in which it was mounted, and /sys/fs/bpf stays
in sight, which `ip netns exec` does not grant.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAMED = Path("/run/netns")

_CLONE_NEWNET = 0x40000000
_MNT_DETACH = 2
_SO_NETNS_COOKIE = 71  # kernel 5.14
_RTM_NEWNSID, _RTM_GETNSID = 88, 90
_NETNSA_FD = 3
_NLM_F_REQUEST = 1
_libc = ctypes.CDLL(None, use_errno=True)


# ---- which one ----


@dataclass(frozen=True)
class NetnsId:
    """The inode names a namespace, but is used again after it is gone; the cookie is not,
    until the machine boots again."""

    inode: int
    cookie: int
    boot_id: str


def current() -> NetnsId:
    """The namespace of the calling thread."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        cookie = probe.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8)
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return NetnsId(current_inode(), int.from_bytes(cookie, "little"), boot_id)


def current_inode() -> int:
    return Path("/proc/thread-self/ns/net").stat().st_ino


def exists(inode: int) -> bool:
    """Whether a process is in a namespace of this inode, or a mount keeps it. One that only an
    open file keeps goes unseen."""
    mark = f"net:[{inode}]"
    if mark in Path("/proc/self/mountinfo").read_text():
        return True
    for path in Path("/proc").glob("[0-9]*/task/*/ns/net"):
        with contextlib.suppress(OSError):  # the thread has ended
            if str(path.readlink()) == mark:
                return True
    return False


def id_here(fd: int) -> int | None:
    """The id that this namespace has for the one of the file descriptor, None if it has
    none: RTM_GETNSID, which pyroute2 answers but leaves an unfinished task behind."""
    attribute = struct.pack("HHI", 8, _NETNSA_FD, fd)
    request = struct.pack("IHHII", 16 + 4 + len(attribute), _RTM_GETNSID, _NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as channel:
        channel.send(request + bytes(4) + attribute)
        answer = channel.recv(4096)
    kind = struct.unpack_from("H", answer, 4)[0]
    if kind != _RTM_NEWNSID:
        return None
    nsid: int = struct.unpack_from("i", answer, 16 + 4 + 4)[0]
    return nsid if nsid >= 0 else None


# ---- being in another ----


def _check(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _setns(fd: int) -> None:
    _check(_libc.setns(fd, _CLONE_NEWNET), "setns")


@contextlib.contextmanager
def _coming_back() -> Iterator[None]:
    """Afterwards the calling thread is back in its namespace, whichever it entered inside."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            yield
        finally:
            _setns(here)
    finally:
        os.close(here)


@contextlib.contextmanager
def throw_away() -> Iterator[None]:
    """Within the block the calling thread is in a new namespace, which then vanishes."""
    with _coming_back():
        _check(_libc.unshare(_CLONE_NEWNET), "unshare")
        yield


@contextlib.contextmanager
def entered(namespace: str | Path) -> Iterator[None]:
    """Within the block the calling thread is in the namespace; a bare name means /run/netns."""
    there = os.open(NAMED / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with _coming_back():
            _setns(there)
            yield
    finally:
        os.close(there)


def enter_for_good(name: str) -> None:
    """Move the calling thread into the namespace; there is no way back."""
    with path_of(name).open() as file:
        _setns(file.fileno())


# ---- those with names ----


def path_of(name: str) -> Path:
    """Where the namespace is mounted."""
    return NAMED / name


def create(name: str) -> None:
    """Make a named namespace; FileExistsError if the name is taken."""
    import pyroute2.netns  # slow to import, and only needed here

    if path_of(name).exists():
        raise FileExistsError(errno.EEXIST, "namespace exists", str(path_of(name)))
    pyroute2.netns.create(name)


def remove(name: str) -> None:
    """Unmount and unlink the name, also of a half-made namespace; nothing if there is none."""
    path = path_of(name)
    if not path.exists():
        return
    if _libc.umount2(os.fsencode(path), _MNT_DETACH) != 0:
        code = ctypes.get_errno()
        # EINVAL: the file is there, but a crash came before the mount.
        if code not in (errno.EINVAL, errno.ENOENT):
            raise OSError(code, os.strerror(code), str(path))
    path.unlink(missing_ok=True)


def is_namespace(name: str) -> bool:
    """Whether a namespace is mounted there (not the empty file of a half-made one)."""
    try:
        status = path_of(name).stat()
    except FileNotFoundError:
        return False
    here = Path("/proc/self/ns/net").stat()
    return stat.S_ISREG(status.st_mode) and status.st_dev == here.st_dev


def identity(name: str) -> NetnsId | None:
    """Tells this namespace from a later one of the same name; None if there is none."""
    if not is_namespace(name):
        return None
    with entered(name):
        return current()


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
