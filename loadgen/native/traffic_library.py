# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The functions of native/traffic in libloadgen.so, with their signatures; loading it checks that
the structs in C have the sizes of their mirrors here."""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_void_p

from loadgen.native.client_structs import ClientConfig, ClientResult, Mix, PlainResult, TraceEntry
from loadgen.native.io_structs import AlignedPeer, SocketOptions, XdpOptions
from loadgen.native.library import library, outdated
from loadgen.native.server_structs import (
    CoordinatorConfig,
    CoordinatorServer,
    ServerConfig,
    ServerNode,
    StoreConfig,
    WorkerConfig,
)

_MIRRORED: tuple[type[ctypes.Structure] | type[ctypes.Union], ...] = (
    AlignedPeer,
    Mix,
    ClientConfig,
    ClientResult,
    ServerNode,
    ServerConfig,
    TraceEntry,
    CoordinatorServer,
    CoordinatorConfig,
    XdpOptions,
    PlainResult,
    WorkerConfig,
    StoreConfig,
)


@functools.cache
def traffic_library() -> ctypes.CDLL:
    """libloadgen.so with the signatures of the traffic functions set. Raises `UserError`
    when it is not built or does not fit this code."""
    lib = library()
    lib.lg_abi_size.restype = ctypes.c_size_t
    for number, mirror in enumerate(_MIRRORED):
        if lib.lg_abi_size(number) != ctypes.sizeof(mirror):
            raise outdated()
    lib.lg_io_socket_open.restype = c_void_p
    lib.lg_io_socket_open.argtypes = [
        ctypes.POINTER(AlignedPeer),
        ctypes.POINTER(SocketOptions),
        ctypes.POINTER(ctypes.c_int),
    ]
    lib.lg_io_xdp_open.restype = c_void_p
    lib.lg_io_xdp_open.argtypes = [ctypes.POINTER(XdpOptions), ctypes.POINTER(ctypes.c_int)]
    lib.lg_io_close.argtypes = [c_void_p]
    lib.lg_io_close.restype = None
    lib.lg_io_socket_port.argtypes = [c_void_p]
    lib.lg_io_socket_port.restype = ctypes.c_uint16
    return lib
