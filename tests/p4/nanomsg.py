# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The packet interface of simple_switch (--packet-in): frames and their ports through a
nanomsg pair. It needs no interface and no privilege."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct

_AF_SP, _PAIR, _SOCKET_LEVEL, _RECEIVE_TIMEOUT = 1, 16, 0, 5
_PACKET_IN, _PACKET_OUT = 3, 4
_HEADER = struct.Struct("=iii")  # type, port, length
_MAX_MESSAGE = 1 << 16


class NanomsgMissing(Exception):
    """libnanomsg.so is not installed; a simple_switch with this interface brings it."""


class PacketPort:
    """One end of the pair; simple_switch holds the other."""

    def __init__(self, address: str) -> None:
        name = ctypes.util.find_library("nanomsg")
        if name is None:
            raise NanomsgMissing
        self._library = ctypes.CDLL(name, use_errno=True)
        self._socket = self._library.nn_socket(_AF_SP, _PAIR)
        if self._socket < 0 or self._library.nn_connect(self._socket, address.encode()) < 0:
            raise OSError(ctypes.get_errno(), f"cannot connect to {address}")
        self._buffer = ctypes.create_string_buffer(_MAX_MESSAGE)

    def send(self, port: int, frame: bytes) -> None:
        message = _HEADER.pack(_PACKET_IN, port, len(frame)) + frame
        if self._library.nn_send(self._socket, message, len(message), 0) < 0:
            raise OSError(ctypes.get_errno(), "cannot send to simple_switch")

    def receive(self, timeout_ms: int) -> tuple[int, bytes] | None:
        """The next frame and its port; None if there is none in time."""
        timeout = ctypes.c_int(timeout_ms)
        self._library.nn_setsockopt(
            self._socket, _SOCKET_LEVEL, _RECEIVE_TIMEOUT, ctypes.byref(timeout), 4
        )
        size = self._library.nn_recv(self._socket, self._buffer, _MAX_MESSAGE, 0)
        if size < 0:
            return None
        kind, port, length = _HEADER.unpack_from(self._buffer.raw)
        assert kind == _PACKET_OUT and size == _HEADER.size + length
        return port, self._buffer.raw[_HEADER.size : size]

    def close(self) -> None:
        self._library.nn_close(self._socket)
