# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Network namespaces: which one this thread is in, and how to be in another for a while."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_SO_NETNS_COOKIE = 71  # kernel 5.14
_RTM_NEWNSID, _RTM_GETNSID = 88, 90
_NETNSA_FD = 3
_NLM_F_REQUEST = 1
_libc = ctypes.CDLL(None, use_errno=True)

NAMED = Path("/run/netns")


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
    inode = Path("/proc/thread-self/ns/net").stat().st_ino
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return NetnsId(inode, int.from_bytes(cookie, "little"), boot_id)


def exists(inode: int) -> bool:
    """Whether a process is in a namespace of this inode, or a mount keeps one; one that only an
    open file keeps is not seen."""
    mark = f"net:[{inode}]"
    if mark in Path("/proc/self/mountinfo").read_text():
        return True
    for path in Path("/proc").glob("[0-9]*/task/*/ns/net"):
        with contextlib.suppress(OSError):  # it ended meanwhile
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


def _setns(fd: int) -> None:
    if _libc.setns(fd, _CLONE_NEWNET) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"setns: {os.strerror(code)}")


@contextlib.contextmanager
def _coming_back() -> Iterator[None]:
    """Whatever namespace the calling thread enters inside, it is in its own again afterwards."""
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
    """The calling thread is in a new namespace meanwhile, which is gone afterwards."""
    with _coming_back():
        if _libc.unshare(_CLONE_NEWNET) < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"unshare: {os.strerror(code)}")
        yield


@contextlib.contextmanager
def entered(namespace: str | Path) -> Iterator[None]:
    """The calling thread is in the namespace meanwhile; a bare name is one of /run/netns.

    Only the network namespace changes: /sys/fs/bpf stays what it is, which `ip netns
    exec` does not grant.
    """
    there = os.open(NAMED / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with _coming_back():
            _setns(there)
            yield
    finally:
        os.close(there)
