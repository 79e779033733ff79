# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What attach has done and is about to do, on disk before it does it.

One JSON file for each attachment, in /run/netclone/net-<inode>/; replaced by rename, so that it
is whole at any moment. From it alone `detach` can undo an attach that died half-way. It is
not synced to disk: what it speaks of does not survive the machine either.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netclone_host.attach import pins
from netclone_host.attach.roles import Role
from netclone_host.errors import UserError
from netclone_host.kernel import netns

UNKNOWN_COOKIE = 0
"""Stands for the cookie of another namespace, where the journal that knew it is lost."""


def run_dir() -> Path:
    """NETCLONE_RUN_DIR names another one (tests use it)."""
    return Path(os.environ.get("NETCLONE_RUN_DIR", "/run/netclone"))


@dataclass
class Port:
    """One interface of an attachment, and what was done, or is about to be done, to it."""

    name: str
    ifindex: int = 0
    """0 where only the name is known."""
    xdp_mode: str = ""
    """Mode of the link; empty before the attempt."""
    xdp_program: int = 0
    """Id of the program that the link holds; 0 before the attempt."""
    tc_program: int = 0
    """Id of the program on egress; 0 before the attempt."""
    tcx: bool = False
    """A tcx link holds it, not a filter."""
    tc_priority: int = 0
    """Priority of the filter; 0 if there is none."""
    made_clsact: bool = False
    """clsact was missing, so attach adds it."""
    tag_offloads: list[str] = field(default_factory=list)
    """Offloads, of the port or of a veth's other end, that were on and were to be switched off."""


@dataclass
class Attachment:
    """One `attach`: an object with its maps, on one interface or on a switch's ports."""

    role: str
    loader: str
    netns_inode: int
    netns_cookie: int
    boot_id: str
    pin_dir: str
    ports: list[Port]
    complete: bool = False
    """False while attach is at work, and for good if it died."""
    mode: str = ""
    reason: str = ""
    """Why the mode is not native, where native was wanted."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What the programs were told, for `status`."""
    attached_at: str = ""

    @property
    def path(self) -> Path:
        return run_dir() / f"net-{self.netns_inode}" / f"{self.ports[0].name}.json"

    @property
    def ifnames(self) -> list[str]:
        return [port.name for port in self.ports]

    def port(self, name: str) -> Port:
        return next(port for port in self.ports if port.name == name)

    def link_pin(self, port: Port) -> Path:
        return Path(self.pin_dir) / f"{pins.LINK}{port.name}"

    def egress_link_pin(self, port: Port) -> Path:
        return Path(self.pin_dir) / f"{pins.EGRESS_LINK}{port.name}"

    def is_of(self, namespace: netns.NetnsId) -> bool:
        """False if another namespace, now gone, left it behind: inodes are used again."""
        return (self.boot_id, self.netns_cookie) == (namespace.boot_id, namespace.cookie)

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        fd, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=".new-")
        try:
            os.fchmod(fd, 0o644)  # anybody may run `status`
            with os.fdopen(fd, "w") as file:
                json.dump(dataclasses.asdict(self), file, indent=1)
            Path(temporary).rename(self.path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        for leftover in self.path.parent.glob(".new-*"):
            leftover.unlink(missing_ok=True)
        for directory in (self.path.parent, run_dir()):
            try:
                directory.rmdir()
            except OSError:
                return


def _read(path: Path) -> Attachment | None:
    """None for a journal that is damaged, or written by another version."""
    try:
        document = json.loads(path.read_text())
        document["ports"] = [Port(**port) for port in document["ports"]]
        attachment = Attachment(**document)
        return attachment if attachment.role in tuple(Role) and attachment.path == path else None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None


def _journals(netns_inode: int | None) -> Iterator[tuple[Path, Attachment | None]]:
    pattern = "net-*" if netns_inode is None else f"net-{netns_inode}"
    for path in sorted(run_dir().glob(f"{pattern}/*.json")):
        if not (pins.is_namespace(path.parent) and path.is_file()):
            continue
        # Readers take no lock: the file may be gone by now.
        with contextlib.suppress(FileNotFoundError):
            yield path, _read(path)


def attachments(netns_inode: int | None = None) -> list[Attachment]:
    """Every attachment on record, or those of one namespace, without the `damaged` ones."""
    return [attachment for _, attachment in _journals(netns_inode) if attachment is not None]


def damaged(netns_inode: int | None = None) -> list[Path]:
    """Journals that cannot be read; `recovery` deals with them."""
    return [path for path, attachment in _journals(netns_inode) if attachment is None]


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """One attach, detach or change of a running switch at a time, over all namespaces."""
    lock = run_dir().with_suffix(".lock")
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        raise UserError(
            f"there is no directory {lock.parent} for the journals",
            hint="make it, or let NETCLONE_RUN_DIR name another place",
        ) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
