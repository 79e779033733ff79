# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pings: does every server answer before anything is measured?"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence

from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.udp_io import UdpIo
from netclone_host.errors import UserError

PROBE_TRIES = 10
PROBE_WAIT_S = 0.3

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
