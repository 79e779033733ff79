# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The structs of traffic/{io,io_xdp}.h as ctypes."""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_uint8, c_uint32


class Peer(ctypes.Structure):
    """`struct lg_peer`: an address, opaque here."""

    _fields_ = [("address", c_uint8 * 28), ("mac", c_uint8 * 6), ("reserved", c_uint8 * 2)]


class AlignedPeer(ctypes.Union):
    """`struct lg_peer` with the alignment of its socket address."""

    _fields_ = [("peer", Peer), ("align", c_uint32)]


class SocketOptions(ctypes.Structure):
    """`struct lg_socket_options`."""

    _fields_ = [
        ("netns", ctypes.c_char_p),
        ("buffer_bytes", c_uint32),
        ("kernel_timestamps", c_uint32),
        ("busy_poll_us", c_uint32),
        ("reserved", c_uint32),
    ]


class XdpOptions(ctypes.Structure):
    """`struct lg_xdp_options`."""

    _fields_ = [
        ("netns", ctypes.c_char_p),
        ("ifname", ctypes.c_char_p),
        ("xsks_map_fd", c_int32),
        ("first_queue", c_uint32),
        ("n_queues", c_uint32),
        ("flags", c_uint32),
        ("local", AlignedPeer),
    ]
