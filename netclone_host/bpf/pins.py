# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where pins live: <bpffs>/netclone/net-<inode of the namespace>/<interface>/."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

from netclone_host.errors import MissingFeatureError

_BPF_FS_MAGIC = 0xCAFE4A11
_libc = ctypes.CDLL(None, use_errno=True)


def bpffs() -> Path:
    """The BPF file system; NETCLONE_BPFFS names another one (tests use it)."""
    return Path(os.environ.get("NETCLONE_BPFFS", "/sys/fs/bpf"))


def root() -> Path:
    return bpffs() / "netclone"


def directory(netns_inode: int, ifname: str) -> Path:
    return root() / f"net-{netns_inode}" / ifname


def is_mounted(path: Path) -> bool:
    """Whether a BPF file system is mounted there (statfs f_type)."""
    buffer = ctypes.create_string_buffer(256)
    if _libc.statfs(os.fsencode(path), buffer) < 0:
        return False
    return int.from_bytes(buffer.raw[: ctypes.sizeof(ctypes.c_long)], "little") == _BPF_FS_MAGIC


def require_mounted() -> None:
    path = bpffs()
    if not is_mounted(path):
        raise MissingFeatureError(
            f"no BPF file system is mounted at {path}",
            hint=f"mount it: mount -t bpf bpf {path} ('ip netns exec' hides it: use "
            "'nsenter --net=/run/netns/NAME' or 'netclone-host rack exec')",
        )


def remove(path: Path) -> None:
    """Remove a directory of pins, and its parents as far as they are empty."""
    if path.is_dir():
        shutil.rmtree(path)
    for parent in (path.parent, root()):
        try:
            parent.rmdir()
        except OSError:
            return
