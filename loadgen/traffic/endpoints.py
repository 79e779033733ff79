# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UDP addresses of clients and servers, each in a network namespace."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadgen.native.io_structs import AlignedPeer
from loadgen.native.traffic_library import traffic_library
from netclone_host.errors import UserError

DEFAULT_PORT = 1000


@dataclass(frozen=True)
class Endpoint:
    """A UDP address; `netns` is the path of its network namespace, None the caller's."""

    ip: str
    port: int = DEFAULT_PORT
    netns: Path | None = None

    @property
    def is_ip6(self) -> bool:
        """IPv6, not IPv4."""
        return ":" in self.ip

    def __str__(self) -> str:
        where = f" in {self.netns.name}" if self.netns else ""
        return f"{self.ip} port {self.port}{where}"


def native_peer(endpoint: Endpoint) -> AlignedPeer:
    """The address for the hot loops. Raises `UserError` for anything but an IP address."""
    peer = AlignedPeer()
    if traffic_library().lg_peer_parse(
        ctypes.byref(peer), endpoint.ip.encode(), ctypes.c_uint16(endpoint.port)
    ):
        raise UserError(f"'{endpoint.ip}' is not an IP address", "write it as 10.0.1.101")
    return peer


def native_peers(endpoints: Sequence[Endpoint]) -> ctypes.Array[AlignedPeer]:
    """`native_peer` of each."""
    return (AlignedPeer * len(endpoints))(*(native_peer(e) for e in endpoints))
