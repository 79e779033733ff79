# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How an application tells the kernel its queue length (`attach --state app`).

The number lies in a page that the kernel's programs read: setting it is a store, no system
call. `xdp/include/netclone_app.h` is the same for C.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
from pathlib import Path

from netclone_host.attach import pins
from netclone_host.attach.tables import MapName
from netclone_host.closeable import Closeable
from netclone_host.errors import UserError
from netclone_host.kernel import netns, objects

_LENGTH = struct.Struct("=I")


def pin_path(ifname: str) -> Path:
    """Where the number is pinned, for an interface of this network namespace."""
    return pins.directory(netns.current_inode(), ifname) / MapName.APP_STATE


class AppState(Closeable):
    """The queue length of the server that is attached to an interface.

    with AppState("eth0") as state:
        state.set(len(queue))

    UserError where no server is attached with `--state app`.
    """

    def __init__(self, ifname: str) -> None:
        path = pin_path(ifname)
        try:
            fd = objects.open_pin(path)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                raise
            raise UserError(
                f"no server is attached to {ifname}: there is no {path}",
                hint=f"netclone-host attach {ifname} --role server --state app ...",
            ) from None
        try:
            self._page = mmap.mmap(fd, mmap.PAGESIZE, mmap.MAP_SHARED)
        finally:
            os.close(fd)

    def set(self, length: int) -> None:
        """Waiting requests; 0 means idle. struct.error if it does not fit 32 bits."""
        _LENGTH.pack_into(self._page, 0, length)

    def get(self) -> int:
        length: int = _LENGTH.unpack_from(self._page)[0]
        return length

    def close(self) -> None:
        self._page.close()
