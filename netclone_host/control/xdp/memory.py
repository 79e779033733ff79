# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How much memory a switch's tables take: from their sizes, and from the kernel's own count."""

from __future__ import annotations

import contextlib
import ctypes
import os
from dataclasses import dataclass

from netclone_host import counters
from netclone_host.attach import status
from netclone_host.attach import tables as abi
from netclone_host.attach.journal import Attachment
from netclone_host.counters import Hook
from netclone_host.kernel import libbpf, maps
from netclone_host.kernel.maps import Map

_WORD = 8
# What a DEVMAP of two entries takes beside its two pointers: struct bpf_dtab and two
# struct bpf_dtab_netdev (kernel 6.1 to 6.18: about this much, rounded to slab sizes).
_PAIR_DEVMAP_BYTES = 704
_PAIRS = "devmaps of port pairs"
_SCRATCH_BYTES = 1024  # struct nc_scratch of xdp/state/frame_sum.h


@dataclass(frozen=True)
class TableMemory:
    """One table: entries, and bytes of all of them."""

    name: str
    entries: int
    n_bytes: int


def _array(name: str, entries: int, value_size: int) -> TableMemory:
    """An ARRAY map keeps its values at multiples of eight bytes."""
    return TableMemory(name, entries, entries * (-(-value_size // _WORD) * _WORD))


def _per_cpu(name: str, entries: int, value_size: int) -> TableMemory:
    return _array(name, entries * libbpf.possible_cpus(), value_size)


def tables_memory(
    n_servers: int, filter_tables: int, filter_slots: int, n_ports: int | None = None
) -> list[TableMemory]:
    """Tables of a switch with room for `n_servers`, each server behind a port of its own
    unless `n_ports` says otherwise. Room for ports: that of the first 1023 interfaces."""
    groups = n_servers * (n_servers - 1)
    ports = n_servers if n_ports is None else n_ports
    # Groups share the devmap of their pair of ports; two servers behind one port, too.
    pairs = ports * (ports - 1) + (ports if ports < n_servers else 0)
    return [
        _array("nc_groups", groups + 1, ctypes.sizeof(abi.Group)),
        _array("nc_servers", abi.MAX_SERVERS, ctypes.sizeof(abi.Server)),
        _array("nc_state", abi.MAX_SERVERS, 4),
        _array("nc_health", abi.MAX_SERVERS, ctypes.sizeof(abi.Health)),
        _array("nc_filter", filter_tables * filter_slots, _WORD),
        _array("nc_requests", 1 << abi.REQUEST_SLOTS_LOG2, _WORD),
        _array("nc_attempts", 1 << abi.REQUEST_SLOTS_LOG2, _WORD),
        _array("nc_fdb", 1 << abi.FDB_SLOTS_LOG2, _WORD),
        _array("nc_switch_cfg", 1, ctypes.sizeof(abi.SwitchConfig)),
        _array("nc_sequence", 1, _WORD),
        _per_cpu("nc_turn", 1, _WORD),
        _per_cpu("nc_scratch", 1, _SCRATCH_BYTES),
        _per_cpu("nc_counters", len(Hook), _WORD * len(counters.names())),
        _array("nc_ports", abi.DEFAULT_PORT_ENTRIES, _WORD),
        _array("nc_clone_ports", groups + 1, _WORD),
        TableMemory(_PAIRS, pairs, pairs * _PAIR_DEVMAP_BYTES),
    ]


def counted_by_kernel(attachment: Attachment) -> dict[str, int]:
    """Bytes of each table of a running switch, as the kernel has them on its books."""
    counted = {}
    for name in (table.name for table in tables_memory(abi.DEFAULT_SERVERS, 1, 1)):
        with status.pinned_map(attachment, "nc_clone_ports" if name == _PAIRS else name) as table:
            counted[name] = _inner_bytes(table) if name == _PAIRS else table.locked_bytes()
    return counted


def _inner_bytes(outer: Map) -> int:
    """The maps in an array of maps, which are all of one size; groups may share one."""
    ids = set(memoryview(outer.values()).cast("I")) - {0}
    for number in ids:
        with contextlib.suppress(FileNotFoundError):  # replaced just now
            inner = maps.map_by_id(number)
            try:
                return len(ids) * inner.locked_bytes()
            finally:
                os.close(inner.fd)
    return 0


def total(tables: list[TableMemory]) -> int:
    return sum(table.n_bytes for table in tables)
