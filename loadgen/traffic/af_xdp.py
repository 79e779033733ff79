# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""AF_XDP sockets beside the role's own program, as a back end of the hot loops.

The role's program (`netclone-host attach`) stays on the interface and decides on every
packet; what it delivers goes to the AF_XDP socket of the packet's queue. Frames sent by
AF_XDP pass no tc program: clients draw GRP themselves, and servers write SID and STATE
themselves and report the length of their queue (`--state app`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterator
from enum import StrEnum

from loadgen.native.io_structs import XdpOptions
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.endpoints import Endpoint, native_peer
from netclone_host.attach import status
from netclone_host.attach.journal import Attachment
from netclone_host.attach.roles import Role
from netclone_host.attach.table_access import pinned_config, pinned_map, pinned_table
from netclone_host.attach.tables import (
    ClientConfig,
    HostFlag,
    MapName,
    ServerConfig,
    StateSource,
)
from netclone_host.errors import UserError
from netclone_host.kernel import netns

_COPY, _ZERO_COPY, _ENDURE = 1, 2, 4


class XdpMode(StrEnum):
    """How frames get between the driver and user space."""

    AUTO = "auto"
    COPY = "copy"
    ZERO_COPY = "zero-copy"


_MODE_FLAGS = {XdpMode.AUTO: 0, XdpMode.COPY: _COPY, XdpMode.ZERO_COPY: _ZERO_COPY}


class XdpIo:
    """AF_XDP sockets on queues of one interface (`struct lg_io`); close it after use.

    Raises `UserError`: no such interface, no program of NetClone on it, a server that
    counts by itself, queue taken, mode not supported.
    """

    def __init__(
        self,
        local: Endpoint,
        ifname: str,
        *,
        first_queue: int = 0,
        queues: int = 1,
        mode: XdpMode = XdpMode.AUTO,
        endure: bool = False,
    ) -> None:
        """`local` needs a port. `endure`: count drops for want of frames and go on; else they
        end the run."""
        self.handle: int | None = None
        self.port = local.port
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            undo.callback(self._closing.close)
            with _inside(local):
                attachment = status.attached_to(ifname)
                self.role = Role(attachment.role)
                self.n_groups, self.filter_tables = self._configuration(attachment, ifname)
                xsks = self._closing.enter_context(pinned_map(attachment, MapName.XSKS))
                flags = _MODE_FLAGS[mode] | (_ENDURE if endure else 0)
                self._open(local, ifname, xsks.fd, first_queue, queues, flags)
                self._closing.enter_context(_handing_over(attachment, self.role))
                self.app_state_fd = self._app_state(attachment)
            undo.pop_all()
        zero_copy = traffic_library().lg_io_xdp_is_zero_copy(ctypes.c_void_p(self.handle))
        self.name = "af_xdp zero-copy" if zero_copy else "af_xdp copy"

    def _configuration(self, attachment: Attachment, ifname: str) -> tuple[int, int]:
        """(groups, filter tables) that the role's program knows."""
        if self.role is Role.CLIENT:
            client = pinned_config(attachment, ClientConfig)
            return client.n_groups, client.n_filter_tables
        if self.role is Role.SERVER:
            server = pinned_config(attachment, ServerConfig)
            if server.state_source != StateSource.APP:
                raise UserError(
                    f"the server program on {ifname} counts requests by itself, but responses "
                    "sent by AF_XDP bypass it",
                    f"attach it with '--state app': netclone-host detach {ifname}, then attach",
                )
            return 0, server.n_filter_tables
        raise UserError(
            f"{ifname} is a switch port", "AF_XDP is for the interfaces of clients and servers"
        )

    def _open(
        self, local: Endpoint, ifname: str, map_fd: int, first: int, queues: int, flags: int
    ) -> None:
        lib = traffic_library()
        options = XdpOptions(
            netns=None,  # this thread is there already
            ifname=ifname.encode(),
            xsks_map_fd=map_fd,
            first_queue=first,
            n_queues=queues,
            flags=flags,
            local=native_peer(local),
        )
        error = ctypes.c_int()
        handle = lib.lg_io_xdp_open(ctypes.byref(options), ctypes.byref(error))
        if not handle:
            raise _open_error(ifname, first, queues, flags, error.value)
        self.handle = handle
        self._closing.callback(self._close_sockets)

    def _app_state(self, attachment: Attachment) -> int | None:
        if self.role is not Role.SERVER:
            return None
        table = self._closing.enter_context(pinned_map(attachment, MapName.APP_STATE))
        return table.fd

    def _close_sockets(self) -> None:
        if self.handle is not None:
            traffic_library().lg_io_close(self.handle)
            self.handle = None

    def close(self) -> None:
        """Packets go to Linux again, then the sockets are closed; once."""
        self._closing.close()


@contextlib.contextmanager
def _inside(local: Endpoint) -> Iterator[None]:
    if local.netns is None:
        yield
        return
    try:
        with netns.entered(local.netns):
            yield
    except FileNotFoundError:
        raise UserError(
            f"there is no network namespace {local.netns}", "see 'ip netns list'"
        ) from None


@contextlib.contextmanager
def _handing_over(attachment: Attachment, role: Role) -> Iterator[None]:
    """The role's program hands packets to sockets within the block."""
    _set_flag(attachment, role, on=True)
    try:
        yield
    finally:
        # The attachment may be gone by now: then nothing is handed over any more.
        with contextlib.suppress(UserError, OSError):
            _set_flag(attachment, role, on=False)


def _set_flag(attachment: Attachment, role: Role, *, on: bool) -> None:
    kind = ClientConfig if role is Role.CLIENT else ServerConfig
    with pinned_table(attachment, kind) as configs:
        config = configs[0]
        config.flags = config.flags & ~HostFlag.XSK | (HostFlag.XSK if on else 0)
        configs[0] = config


def _open_error(ifname: str, first: int, queues: int, flags: int, code: int) -> UserError:
    which = f"queue {first}" if queues == 1 else f"queues {first} to {first + queues - 1}"
    match code:
        case errno.EBUSY:
            return UserError(
                f"{which} of {ifname} belong to another AF_XDP program", "stop it, or use others"
            )
        case errno.EOPNOTSUPP if flags & _ZERO_COPY:
            return UserError(
                f"the driver of {ifname} has no zero-copy AF_XDP", "use the mode auto or copy"
            )
        case errno.EINVAL:
            return UserError(
                f"{ifname} has no {which}", f"see 'ethtool -l {ifname}' for how many it has"
            )
        case errno.EPERM:
            return UserError("no permission to open AF_XDP sockets", "run it as root")
        case _:
            return UserError(
                f"cannot open AF_XDP sockets on {ifname}: {os.strerror(code)}",
                "the 'socket' back end works everywhere",
            )
