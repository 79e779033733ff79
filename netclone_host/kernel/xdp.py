# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""XDP programs on interfaces: what is there, attaching by a link, and why that failed."""

from __future__ import annotations

import ctypes
import enum
import errno
import os
from ctypes import c_uint8, c_uint32
from dataclasses import dataclass

from netclone_host.errors import UserError
from netclone_host.kernel import libbpf, objects


class XdpMode(enum.StrEnum):
    NATIVE = "native"
    GENERIC = "generic"

    @property
    def flag(self) -> int:
        """XDP_FLAGS_DRV_MODE or XDP_FLAGS_SKB_MODE."""
        return _FLAGS[self]


_FLAGS = {XdpMode.NATIVE: 1 << 2, XdpMode.GENERIC: 1 << 1}
_UPDATE_IF_NOEXIST = 1 << 0
_KERNEL_MESSAGE = "Kernel error message: "


class _QueryOpts(ctypes.Structure):
    _fields_ = [
        ("sz", ctypes.c_size_t),
        ("prog_id", c_uint32),
        ("drv_prog_id", c_uint32),
        ("hw_prog_id", c_uint32),
        ("skb_prog_id", c_uint32),
        ("attach_mode", c_uint8),
    ]


@dataclass(frozen=True)
class Attached:
    """Ids of the programs on an interface; 0 where there is none."""

    native_id: int
    generic_id: int
    offloaded_id: int

    def programs(self) -> list[tuple[str, int]]:
        """(mode, program id) of each."""
        modes = (
            ("native", self.native_id),
            ("generic", self.generic_id),
            ("offloaded", self.offloaded_id),
        )
        return [(mode, program) for mode, program in modes if program]

    def ids(self) -> set[int]:
        return {program for _, program in self.programs()}


def query(ifindex: int) -> Attached:
    opts = _QueryOpts(sz=ctypes.sizeof(_QueryOpts))
    libbpf.call("bpf_xdp_query", ifindex, 0, ctypes.byref(opts))
    return Attached(opts.drv_prog_id, opts.skb_prog_id, opts.hw_prog_id)


class ModeUnavailable(Exception):
    """The driver, or the interface as configured, does not support the mode.

    `reason` is the kernel's own sentence where it has one; `hint` what would help, empty if
    nothing is known to.
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason, self.hint = reason, hint


def attach(program_fd: int, ifindex: int, mode: XdpMode) -> int:
    """Attach by a link and return its fd: closed before it is pinned, it detaches.

    ModeUnavailable if this mode does not work here; OSError for anything else.
    """
    try:
        return objects.create_xdp_link(program_fd, ifindex, mode.flag)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EBUSY, errno.ENODEV, errno.ENOMEM):
            raise
        raise _why(error, program_fd, ifindex, mode) from None


def _why(error: OSError, program_fd: int, ifindex: int, mode: XdpMode) -> ModeUnavailable:
    """The kernel answers a link with a mere errno, and the older netlink call with a sentence. So
    make that call, for the sentence."""
    with libbpf.log.captured() as messages:
        try:
            flags = mode.flag | _UPDATE_IF_NOEXIST
            libbpf.call("bpf_xdp_attach", ifindex, program_fd, flags, None)
        except OSError:
            pass
        else:
            libbpf.call("bpf_xdp_detach", ifindex, mode.flag, None)
    said = [line.split(_KERNEL_MESSAGE, 1)[1] for line in messages if _KERNEL_MESSAGE in line]
    if said:
        reason = said[0].strip()
    elif error.errno == errno.EOPNOTSUPP:
        reason = f"the driver has no {mode} XDP"
    else:
        reason = os.strerror(error.errno or 0)
    return ModeUnavailable(reason, _hint(reason))


def _hint(reason: str) -> str:
    lowered = reason.lower()
    if "peer mtu" in lowered:
        return "lower the MTU of the veth's other end to 3498 or less"
    if "mtu" in lowered:
        return "lower the MTU of the interface to 1500"
    if "queue" in lowered:
        return "give it as many receive queues as its peer has transmit queues"
    if "lro" in lowered or "hw-gro" in lowered:
        return "switch large receive offload off (ethtool -K IFACE lro off)"
    return ""


@dataclass
class Displaced:
    """A foreign program that was taken off, kept so that it can be put back."""

    ifindex: int
    mode: str
    program_fd: int

    def restore(self) -> None:
        flag = XdpMode(self.mode).flag
        libbpf.call("bpf_xdp_attach", self.ifindex, self.program_fd, flag, None)

    def close(self) -> None:
        os.close(self.program_fd)


def displace(ifindex: int, mode: str, program_id: int) -> Displaced:
    """Take a foreign program off. UserError if only its owner can do that."""
    kept = Displaced(ifindex, mode, libbpf.call("bpf_prog_get_fd_by_id", program_id))
    links = [
        info
        for _, info in objects.links()
        if info.type == objects.LinkType.XDP
        and info.program_id == program_id
        and info.ifindex == ifindex
    ]
    try:
        if not links:
            libbpf.call("bpf_xdp_detach", ifindex, XdpMode(mode).flag, None)
        elif len(links) == 1:
            fd = libbpf.call("bpf_link_get_fd_by_id", links[0].id)
            try:
                objects.detach_link(fd)
            finally:
                os.close(fd)
        else:
            # An index is not unique across namespaces, and a link does not name its namespace.
            raise UserError(
                f"program {program_id} is held by {len(links)} links on interfaces of index "
                f"{ifindex} in different namespaces, and they cannot be told apart",
                hint="detach it with the tool that attached it",
            )
    except BaseException:
        kept.close()
        raise
    return kept
