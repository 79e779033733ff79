# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which back end sends and receives: `socket` or `af_xdp`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from loadgen.traffic.af_xdp import XdpIo, XdpMode
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.udp_io import UdpIo
from netclone_host.errors import UserError


class Io(Protocol):
    """An open back end (`struct lg_io`)."""

    name: str
    """As records give it: `socket`, `af_xdp copy`, `af_xdp zero-copy`."""
    handle: int | None

    def close(self) -> None:
        """Closes it, once."""


@dataclass(frozen=True)
class IoOptions:
    """The back end and its settings; all but `kind` are for af_xdp."""

    kind: str = "socket"
    ifname: str | None = None
    first_queue: int = 0
    queues: int = 1
    mode: XdpMode = XdpMode.AUTO
    endure: bool = False

    @property
    def is_xdp(self) -> bool:
        """Frames instead of a socket's payloads."""
        return self.kind == "af_xdp"

    def interface(self) -> str:
        """The interface of af_xdp; raises `UserError` without one."""
        if self.ifname is None:
            raise UserError("af_xdp needs an interface", "name it with --interface")
        return self.ifname


SOCKET = IoOptions()


def open_io(local: Endpoint, options: IoOptions, *, kernel_timestamps: bool) -> UdpIo | XdpIo:
    """Opens the back end at `local`. Raises `UserError`."""
    if not options.is_xdp:
        return UdpIo(local, kernel_timestamps=kernel_timestamps)
    return XdpIo(
        local,
        options.interface(),
        first_queue=options.first_queue,
        queues=options.queues,
        mode=options.mode,
        endure=options.endure,
    )
