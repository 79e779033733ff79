# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The egress side where the kernel has no tcx: a direct-action BPF filter under clsact.

Other people's filters and qdiscs are never touched: a filter is found again by its program's
id, and clsact is removed only if nothing hangs on it.
"""

from __future__ import annotations

import ctypes
import errno
from ctypes import c_int, c_uint32
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from netclone_host.errors import ForeignProgramError
from netclone_host.kernel import libbpf

_EGRESS = 0xFFFFFFF3  # TC_H_CLSACT, TC_H_MIN_EGRESS
_INGRESS = 0xFFFFFFF2
_ETH_P_ALL_BE = 0x0300
_HANDLE = 1
_ATTACH_EGRESS = 1 << 1  # BPF_TC_EGRESS
# A filter of ours goes before those of others: it never ends the classification.
_DEFAULT_PRIORITY = 0x4E43


class _Hook(ctypes.Structure):
    _fields_ = [
        ("sz", ctypes.c_size_t),
        ("ifindex", c_int),
        ("attach_point", c_int),
        ("parent", c_uint32),
    ]


class _Opts(ctypes.Structure):
    _fields_ = [
        ("sz", ctypes.c_size_t),
        ("prog_fd", c_int),
        ("flags", c_uint32),
        ("prog_id", c_uint32),
        ("handle", c_uint32),
        ("priority", c_uint32),
    ]


def _qdiscs(ifindex: int) -> set[str]:
    with IPRoute() as route:
        return {qdisc.get_attr("TCA_KIND") for qdisc in route.get_qdiscs(ifindex)}


def has_clsact(ifindex: int) -> bool:
    """ForeignProgramError if an ingress qdisc stands where clsact would."""
    kinds = _qdiscs(ifindex)
    if "ingress" in kinds:
        raise ForeignProgramError(
            "an ingress qdisc stands where clsact would have to be",
            hint="replace it: tc qdisc del dev IFACE ingress; tc qdisc add dev IFACE clsact",
        )
    return "clsact" in kinds


def add_clsact(ifindex: int) -> None:
    with IPRoute() as route:
        route.tc("add", "clsact", ifindex)


def remove_clsact_if_unused(ifindex: int) -> bool:
    """Remove clsact unless a filter is attached to it, on either side; whether it was removed."""
    if "clsact" not in _qdiscs(ifindex):
        return False
    if _filters(ifindex, _EGRESS) or _filters(ifindex, _INGRESS):
        return False
    with IPRoute() as route:
        route.tc("del", "clsact", ifindex)
    return True


def _filters(ifindex: int, parent: int) -> list[tuple[int, int, Any]]:
    """(priority, handle, message) of every filter; a priority without a filter has handle 0."""
    with IPRoute() as route:
        return [
            (entry["info"] >> 16, entry["handle"], entry)
            for entry in route.get_filters(ifindex, parent=parent)
        ]


def egress_programs(ifindex: int) -> list[tuple[int, int]]:
    """(priority, program id) of every BPF filter with the handle that we give ours."""
    if "clsact" not in _qdiscs(ifindex):
        return []
    priorities = [one for one, handle, _ in _filters(ifindex, _EGRESS) if handle == _HANDLE]
    programs = [(priority, filter_program(ifindex, priority)) for priority in priorities]
    return [(priority, program) for priority, program in programs if program]


def free_priority(ifindex: int) -> int:
    """An unused priority, before all that are used if possible."""
    taken = {priority for priority, _, _ in _filters(ifindex, _EGRESS)}
    wanted = min([_DEFAULT_PRIORITY, *(priority - 1 for priority in taken)])
    if wanted >= 1:
        return wanted
    return next(priority for priority in range(1, 0xFFFF) if priority not in taken)


def before(ifindex: int, priority: int) -> list[int]:
    """Priorities of the filters on egress that run before one of this priority."""
    found = {one for one, handle, _ in _filters(ifindex, _EGRESS) if handle and one < priority}
    return sorted(found)


def add_filter(ifindex: int, program_fd: int, name: str, priority: int) -> None:
    with IPRoute() as route:
        route.tc(
            "add-filter",
            "bpf",
            ifindex,
            _HANDLE,
            fd=program_fd,
            name=name,
            parent=_EGRESS,
            classid=1,
            direct_action=True,
            prio=priority,
        )


def filter_program(ifindex: int, priority: int) -> int | None:
    """Id of the program of our filter at this priority, None if there is none."""
    hook = _Hook(sz=ctypes.sizeof(_Hook), ifindex=ifindex, attach_point=_ATTACH_EGRESS)
    opts = _Opts(sz=ctypes.sizeof(_Opts), handle=_HANDLE, priority=priority)
    with libbpf.log.captured():
        try:
            libbpf.call("bpf_tc_query", ctypes.byref(hook), ctypes.byref(opts))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINVAL, errno.ENODEV):
                return None
            raise
    return int(opts.prog_id)


def remove_filter(ifindex: int, priority: int, program_id: int) -> bool:
    """Remove the filter if it still runs this program; whether it did."""
    if filter_program(ifindex, priority) != program_id:
        return False
    with IPRoute() as route:
        try:
            route.tc(
                "del-filter",
                "bpf",
                ifindex,
                _HANDLE,
                parent=_EGRESS,
                info=_ETH_P_ALL_BE | priority << 16,
            )
        except NetlinkError as error:
            if error.code != errno.ENOENT:
                raise
    return True
