# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UDP sockets for the hot loops, opened inside their network namespaces."""

from __future__ import annotations

import ctypes
import errno
import os

from loadgen.native.io_structs import SocketOptions
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.endpoints import Endpoint, native_peer
from netclone_host.closeable import Closeable
from netclone_host.errors import UserError

BUFFER_BYTES = 8 << 20


class UdpIo(Closeable):
    """A UDP socket as the hot loops' back end (`struct lg_io`); close it after them.

    Raises `UserError` when it cannot be opened: port in use, no such address or namespace.
    """

    name = "socket"

    def __init__(
        self, local: Endpoint, *, kernel_timestamps: bool = False, busy_poll_us: int = 0
    ) -> None:
        lib = traffic_library()
        options = SocketOptions(
            os.fsencode(local.netns) if local.netns else None,
            BUFFER_BYTES,
            kernel_timestamps,
            busy_poll_us,
        )
        error = ctypes.c_int()
        peer = native_peer(local)
        handle = lib.lg_io_socket_open(
            ctypes.byref(peer), ctypes.byref(options), ctypes.byref(error)
        )
        if not handle:
            raise _open_error(local, error.value)
        self.handle: int | None = handle
        self.port = int(lib.lg_io_socket_port(handle))

    def close(self) -> None:
        """Closes the socket, once."""
        if self.handle is not None:
            traffic_library().lg_io_close(self.handle)
            self.handle = None


def _open_error(local: Endpoint, code: int) -> UserError:
    match code:
        case errno.EADDRINUSE:
            return UserError(
                f"{local} is in use by another program",
                f"find it with 'ss -lunp sport = :{local.port}', or choose another port",
            )
        case errno.EADDRNOTAVAIL:
            return UserError(
                f"{local.ip} is not an address of this {'node' if local.netns else 'machine'}",
                "see 'ip address'",
            )
        case errno.EACCES | errno.EPERM:
            return UserError(f"no permission to open {local}", "run it as root")
        case errno.ENOENT:
            return UserError(
                f"there is no network namespace {local.netns}", "see 'netclone-host rack status'"
            )
        case _:
            return UserError(f"cannot open {local}: {os.strerror(code)}", "see 'ip address'")
