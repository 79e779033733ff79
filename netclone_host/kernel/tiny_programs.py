# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs of a handful of instructions, for probes and as the baseline of benchmarks."""

from __future__ import annotations

import ctypes
import enum
import socket
import struct

from netclone_host.kernel import libbpf

XDP_PASS = 2
_MOV64_IMM, _LD_IMM64, _CALL, _EXIT = 0xB7, 0x18, 0x85, 0x95
_PSEUDO_MAP_FD = 1
_SKB_VLAN_PUSH, _REDIRECT_MAP = 18, 51  # enum bpf_func_id


class ProgramType(enum.IntEnum):
    SCHED_CLS = 3
    XDP = 6


class _LoadOpts(ctypes.Structure):
    _fields_ = [
        ("sz", ctypes.c_size_t),
        ("attempts", ctypes.c_int),
        ("expected_attach_type", ctypes.c_uint32),
        ("prog_btf_fd", ctypes.c_uint32),
        ("prog_flags", ctypes.c_uint32),
        ("prog_ifindex", ctypes.c_uint32),
        ("kern_version", ctypes.c_uint32),
    ]


def _instruction(code: int, dst: int = 0, src: int = 0, imm: int = 0) -> bytes:
    return struct.pack("<BBhi", code, src << 4 | dst, 0, imm)


def returning(value: int) -> bytes:
    """The empty program: returns a verdict."""
    return _instruction(_MOV64_IMM, imm=value) + _instruction(_EXIT)


def redirecting(map_fd: int, key: int, flags: int) -> bytes:
    """return bpf_redirect_map(map, key, flags)"""
    return (
        _instruction(_LD_IMM64, dst=1, src=_PSEUDO_MAP_FD, imm=map_fd)
        + _instruction(0)
        + _instruction(_MOV64_IMM, dst=2, imm=key)
        + _instruction(_MOV64_IMM, dst=3, imm=flags)
        + _instruction(_CALL, imm=_REDIRECT_MAP)
        + _instruction(_EXIT)
    )


def pushing_vlan(vlan_id: int) -> bytes:
    """bpf_skb_vlan_push(skb, htons(ETH_P_8021Q), vlan_id); return TCX_NEXT"""
    return (
        _instruction(_MOV64_IMM, dst=2, imm=socket.htons(0x8100))
        + _instruction(_MOV64_IMM, dst=3, imm=vlan_id)
        + _instruction(_CALL, imm=_SKB_VLAN_PUSH)
        + returning(-1)
    )


def load(kind: ProgramType, name: str, code: bytes, attach_type: int = 0) -> int:
    """A file descriptor; OSError with the kernel's errno."""
    opts = _LoadOpts(sz=ctypes.sizeof(_LoadOpts), expected_attach_type=attach_type)
    buffer = ctypes.create_string_buffer(code, len(code))
    return libbpf.call(
        "bpf_prog_load",
        kind,
        name.encode(),
        b"Dual BSD/GPL",
        buffer,
        len(code) // 8,
        ctypes.byref(opts),
    )
