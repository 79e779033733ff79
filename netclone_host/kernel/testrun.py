# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BPF_PROG_TEST_RUN: one packet through a program, without an interface."""

from __future__ import annotations

import ctypes
import enum
from ctypes import c_int, c_uint32
from typing import NamedTuple

from netclone_host.kernel import libbpf

_ROOM = 8192  # a packet fills at most a page; programs may add to it


class XdpAction(enum.IntEnum):
    ABORTED = 0
    DROP = 1
    PASS = 2
    TX = 3
    REDIRECT = 4


class TcAction(enum.IntEnum):
    """Verdicts of a tc program; UNSPEC (-1) is returned as an unsigned number."""

    OK = 0
    SHOT = 2
    UNSPEC = 0xFFFFFFFF


class Result(NamedTuple):
    retval: int
    """XdpAction or TcAction."""
    data_out: bytes
    duration_ns: int
    """Mean over the repetitions, as the kernel measured it."""


class XdpContext(ctypes.Structure):
    """struct xdp_md as ctx_in: where the packet comes from. An ingress_ifindex other than 0
    needs an interface of that index in this namespace."""

    _fields_ = [
        ("data", c_uint32),
        ("data_end", c_uint32),
        ("data_meta", c_uint32),
        ("ingress_ifindex", c_uint32),
        ("rx_queue_index", c_uint32),
        ("egress_ifindex", c_uint32),
    ]

    @classmethod
    def of(cls, packet: bytes, ingress_ifindex: int, rx_queue: int = 0) -> XdpContext:
        return cls(0, len(packet), 0, ingress_ifindex, rx_queue, 0)


class _Opts(ctypes.Structure):
    _fields_ = [
        ("sz", ctypes.c_size_t),
        ("data_in", ctypes.c_void_p),
        ("data_out", ctypes.c_void_p),
        ("data_size_in", c_uint32),
        ("data_size_out", c_uint32),
        ("ctx_in", ctypes.c_void_p),
        ("ctx_out", ctypes.c_void_p),
        ("ctx_size_in", c_uint32),
        ("ctx_size_out", c_uint32),
        ("retval", c_uint32),
        ("repeat", c_int),
        ("duration", c_uint32),
        ("flags", c_uint32),
        ("cpu", c_uint32),
        ("batch_size", c_uint32),
    ]


def prog_test_run(
    fd: int, data_in: bytes, repeat: int = 1, ctx: ctypes.Structure | None = None
) -> Result:
    """Run a program `repeat` times over a packet; the packet is not reset in between, so
    the runs after the first see what the one before left.

    A packet below 14 bytes is refused by the kernel. OSError with its errno.
    """
    packet = ctypes.create_string_buffer(data_in, len(data_in))
    room = ctypes.create_string_buffer(_ROOM)
    opts = _Opts(
        sz=ctypes.sizeof(_Opts),
        data_in=ctypes.addressof(packet),
        data_size_in=len(data_in),
        data_out=ctypes.addressof(room),
        data_size_out=_ROOM,
        repeat=repeat,
    )
    if ctx is not None:
        opts.ctx_in, opts.ctx_size_in = ctypes.addressof(ctx), ctypes.sizeof(ctx)
    libbpf.call("bpf_prog_test_run_opts", fd, ctypes.byref(opts))
    return Result(opts.retval, room.raw[: opts.data_size_out], opts.duration)
