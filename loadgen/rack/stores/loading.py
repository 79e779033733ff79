# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fills a store: requests of fixed length, made by the thousand with numpy."""

from __future__ import annotations

import socket
from collections.abc import Callable

import numpy as np

from loadgen.rack.stores import objects
from loadgen.rack.stores.process import StoreKind, StoreProcess
from netclone_host.errors import UserError

CHUNK = 10_000
TIMEOUT_S = 60.0


def _row(parts: list[bytes | objects.Bytes], n: int) -> bytes:
    """`n` requests in a row: fixed texts, and one row of each array per request."""
    columns = [
        np.broadcast_to(np.frombuffer(part, dtype=np.uint8), (n, len(part)))
        if isinstance(part, bytes)
        else part
        for part in parts
    ]
    return np.hstack(columns).tobytes()


def _request(kind: StoreKind, first: int, n: int) -> tuple[bytes, bytes]:
    """(requests that write `n` objects, the reply that must come)."""
    keys, values = objects.keys(first, n), objects.values(first, n)
    if kind is StoreKind.MEMCACHED:
        body = _row([b"set ", keys, b" 0 0 64 noreply\r\n", values, b"\r\n"], n)
        # A no-op behind the silent writes: its answer means that they are done.
        return body + b"mn\r\n", b"MN\r\n"
    head = b"*%d\r\n$4\r\nMSET\r\n" % (2 * n + 1)
    return head + _row([b"$16\r\n", keys, b"\r\n$64\r\n", values, b"\r\n"], n), b"+OK\r\n"


def load_objects(store: StoreProcess, count: int, progress: Callable[[int], None]) -> None:
    """Writes objects 0 to `count` - 1; calls `progress` with the number written so far.

    Raises `UserError` when the store refuses.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(TIMEOUT_S)
        try:
            sock.connect(str(store.socket_path))
            for first in range(0, count, CHUNK):
                n = min(CHUNK, count - first)
                request, expected = _request(store.kind, first, n)
                sock.sendall(request)
                _expect(sock, expected)
                progress(first + n)
            held = _held(sock, store.kind)
        except OSError as error:
            raise UserError(
                f"the store stopped while it was loaded: {error}", "is there enough memory?"
            ) from error
    if held != count:
        raise UserError(
            f"the store holds {held:,} of the {count:,} objects that it was given",
            "is there enough memory?",
        )


def _held(sock: socket.socket, kind: StoreKind) -> int:
    """How many objects the store says it has."""
    question, before, end = {
        StoreKind.REDIS: (b"DBSIZE\r\n", b":", b"\r\n"),
        StoreKind.MEMCACHED: (b"stats\r\n", b"STAT curr_items ", b"END\r\n"),
    }[kind]
    sock.sendall(question)
    got = b""
    while not got.endswith(end):
        part = sock.recv(4096)
        if not part:
            raise ConnectionResetError("it closed the connection")
        got += part
    return int(got.partition(before)[2].split()[0])


def _expect(sock: socket.socket, expected: bytes) -> None:
    got = b""
    while len(got) < len(expected):
        part = sock.recv(4096)
        got += part
        if not part or not expected.startswith(got[: len(expected)]):
            raise UserError(
                f"the store refused objects: {got[:80].decode(errors='replace').strip()}",
                "is there enough memory?",
            )
