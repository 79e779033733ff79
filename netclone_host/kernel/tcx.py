# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The egress side where the kernel has tcx (6.6): programs in a row, each held by a link.

They run before the filters of clsact. A program that ends the row, with whatever verdict but
TCX_NEXT, hides those behind it, so ours goes first.
"""

from __future__ import annotations

import ctypes
import errno
from ctypes import c_uint32

from netclone_host.kernel import libbpf, objects

_EGRESS = 47  # enum bpf_attach_type, BPF_TCX_EGRESS
_BEFORE = 1 << 3  # BPF_F_BEFORE; without a program that it is relative to: before all of them
_MOST_PROGRAMS = 64  # BPF_MPROG_MAX


def is_available(ifindex: int) -> bool:
    """Whether this kernel has tcx: one that has not refuses to list the programs."""
    try:
        programs(ifindex)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False
    return True


def programs(ifindex: int) -> list[int]:
    """Ids of the programs on egress, in the order in which they run."""
    ids = (c_uint32 * _MOST_PROGRAMS)()
    count = c_uint32(_MOST_PROGRAMS)
    libbpf.call("bpf_prog_query", ifindex, _EGRESS, 0, None, ids, ctypes.byref(count))
    return list(ids[: count.value])


def attach_first(program_fd: int, ifindex: int) -> int:
    """Attach before everybody who is there, by a link, and return its fd."""
    return objects.create_link(program_fd, ifindex, _EGRESS, _BEFORE)
