# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sockets of clients and servers, opened inside their network namespaces."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadgen.native.io_structs import AlignedPeer, SocketOptions
from loadgen.native.traffic_library import traffic_library
from netclone_host.closeable import Closing
from netclone_host.errors import UserError

DEFAULT_PORT = 1000
BUFFER_BYTES = 8 << 20

PROBE_TRIES = 10
PROBE_WAIT_S = 0.3


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
    """The address for the hot loops. Raises `UserError` for what is no IP address."""
    peer = AlignedPeer()
    if traffic_library().lg_peer_parse(
        ctypes.byref(peer), endpoint.ip.encode(), ctypes.c_uint16(endpoint.port)
    ):
        raise UserError(f"'{endpoint.ip}' is not an IP address", "write it as 10.0.1.101")
    return peer


def native_peers(endpoints: Sequence[Endpoint]) -> ctypes.Array[AlignedPeer]:
    """`native_peer` of each."""
    return (AlignedPeer * len(endpoints))(*(native_peer(e) for e in endpoints))


class UdpIo(Closing):
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


_PING = struct.Struct("<28xII HBB I QQQQQ")
_MAGIC, _OP_PING, _NO_CLONE = 0x4E434C47, 1, 1


def _ping(run: int, number: int) -> bytes:
    packet = bytearray(_PING.pack(_MAGIC, run, 0, _OP_PING, 0, 0, number, 0, 0, 0, 0))
    packet[2] = _NO_CLONE
    return bytes(packet)


@contextlib.contextmanager
def _python_socket(local: Endpoint) -> Iterator[socket.socket]:
    """A socket in `local`'s namespace, at any free port."""
    with UdpIo(Endpoint(local.ip, 0, local.netns)) as io:
        handle = io.handle
        assert handle is not None
        fd = traffic_library().lg_io_fd(ctypes.c_void_p(handle))
        with socket.socket(fileno=os.dup(fd)) as sock:
            yield sock


def probe(client: Endpoint, servers: Sequence[Endpoint]) -> None:
    """Waits until every server answers a ping from `client`; this also fills ARP caches.

    Any server that echoes the payload will do. Raises `UserError` that names a silent one.
    """
    run = int.from_bytes(os.urandom(4), "little")
    missing = set(range(len(servers)))
    with _python_socket(client) as sock:
        for _ in range(PROBE_TRIES):
            for number in missing:
                with contextlib.suppress(OSError):
                    sock.sendto(_ping(run, number), (servers[number].ip, servers[number].port))
            _collect(sock, run, missing)
            if not missing:
                return
    silent = servers[min(missing)]
    raise UserError(
        f"no answer from the server at {silent.ip} port {silent.port}",
        "start it ('netclone-loadgen server'), and check the path with ping",
    )


def _collect(sock: socket.socket, run: int, missing: set[int]) -> None:
    deadline = time.monotonic() + PROBE_WAIT_S
    while missing and (left := deadline - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            packet = sock.recv(2048)
        except OSError:
            return
        if len(packet) >= _PING.size:
            magic, of_run, _, _, _, _, number, *_ = _PING.unpack_from(packet)
            if magic == _MAGIC and of_run == run:
                missing.discard(number)
