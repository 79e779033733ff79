# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where pins live: <bpffs>/netclone/net-<inode of the namespace>/<interface>/."""

from __future__ import annotations

import os
from pathlib import Path

from netclone_host.errors import MissingFeatureError
from netclone_host.kernel import objects

LINK, EGRESS_LINK = "link-", "egress-"
"""A link's pin is this and the interface's name; a map is pinned under its own name."""

_MAP = "nc_"


def bpffs() -> Path:
    """The BPF file system; NETCLONE_BPFFS names another one (tests use it)."""
    return Path(os.environ.get("NETCLONE_BPFFS", "/sys/fs/bpf"))


def root() -> Path:
    return bpffs() / "netclone"


def directory(netns_inode: int, ifname: str) -> Path:
    return root() / f"net-{netns_inode}" / ifname


def is_namespace(directory: Path) -> bool:
    """Whether the name is that of a namespace's directory, here or among the journals."""
    return directory.name.removeprefix("net-").isdecimal()


def directories(netns_inode: int | None = None) -> list[Path]:
    """Those of one namespace, or of all."""
    pattern = "net-*" if netns_inode is None else f"net-{netns_inode}"
    try:
        found = sorted(root().glob(f"{pattern}/*"))
        return [path for path in found if is_namespace(path.parent) and path.is_dir()]
    except PermissionError:  # only root may look into a BPF file system
        return []


def entries(directory: Path) -> list[Path]:
    """What is pinned there; empty if that cannot be seen."""
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def is_mounted() -> bool:
    return objects.is_bpffs(bpffs())


def require_mounted() -> None:
    path = bpffs()
    if not is_mounted():
        raise MissingFeatureError(
            f"no BPF file system is mounted at {path}",
            hint=f"mount it: mount -t bpf bpf {path} ('ip netns exec' hides it: use "
            "'nsenter --net=/run/netns/NAME' or 'netclone-host rack exec')",
        )


def is_ours(path: Path) -> bool:
    """Whether attach gives such names to pins; a directory is never ours."""
    return path.name.startswith((LINK, EGRESS_LINK, _MAP)) and (
        path.is_symlink() or not path.is_dir()
    )


def remove(directory: Path) -> None:
    """Remove our pins from a directory, then it and its parents as far as they are empty: what
    somebody else pinned there stays."""
    if directory.is_dir():
        for path in directory.iterdir():
            if is_ours(path):
                path.unlink(missing_ok=True)
    for parent in (directory, directory.parent, directory.parent.parent):
        try:
            parent.rmdir()
        except OSError:
            return
