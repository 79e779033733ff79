# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A NetClone server in eight lines: reads a request, sends it back as a response."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from netclone_host.wire import DEFAULT_PORT, Type

from .probe import Address, udp_socket

_TYPE_OFFSET = 3


def _serve(sockets: Sequence[socket.socket], stop: threading.Event) -> None:
    while not stop.is_set():
        for ready in select.select(sockets, [], [], 0.05)[0]:
            request, client = ready.recvfrom(2048)
            response = bytearray(request)
            response[_TYPE_OFFSET] = Type.RESP
            ready.sendto(response, client)


@contextmanager
def echo_servers(where: Sequence[tuple[str, Address]]) -> Iterator[None]:
    """One server at port 1000 of each (namespace, address)."""
    sockets = [udp_socket(namespace, address, DEFAULT_PORT) for namespace, address in where]
    stop = threading.Event()
    thread = threading.Thread(target=_serve, args=(sockets, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for opened in sockets:
            opened.close()
