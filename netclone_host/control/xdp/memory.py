# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The memory of a switch's tables: computed from their sizes, and as the kernel counts it."""

from __future__ import annotations

import contextlib
import ctypes
import os
from dataclasses import dataclass

from netclone_host import counters
from netclone_host.attach import tables
from netclone_host.attach.journal import Attachment
from netclone_host.attach.table_access import pinned_map
from netclone_host.attach.tables import MapName
from netclone_host.counters import Hook
from netclone_host.kernel import libbpf, maps
from netclone_host.kernel.maps import Map

_WORD = 8
# What a DEVMAP of two entries takes besides its two pointers: struct bpf_dtab and two
# struct bpf_dtab_netdev (kernel 6.1 to 6.18: about this much, rounded to slab sizes).
_PAIR_DEVMAP_BYTES = 704
_PAIRS = "devmaps of port pairs"
_MAPS = (
    MapName.GROUPS,
    MapName.SERVERS,
    MapName.STATE,
    MapName.HEALTH,
    MapName.FILTER,
    MapName.REQUESTS,
    MapName.ATTEMPTS,
    MapName.FDB,
    MapName.SWITCH_CONFIG,
    MapName.SEQUENCE,
    MapName.TURN,
    MapName.SCRATCH,
    MapName.COUNTERS,
    MapName.PORTS,
    MapName.CLONE_PORTS,
)
_SCRATCH_BYTES = 1024  # struct nc_scratch of xdp/targets/kernel.h


@dataclass(frozen=True)
class TableMemory:
    """One table: its entries, and the bytes of all of them."""

    name: str
    entries: int
    n_bytes: int


def _array(name: str, entries: int, value_size: int) -> TableMemory:
    """An ARRAY map aligns its values to eight bytes."""
    return TableMemory(name, entries, entries * (-(-value_size // _WORD) * _WORD))


def _per_cpu(name: str, entries: int, value_size: int) -> TableMemory:
    return _array(name, entries * libbpf.possible_cpus(), value_size)


def tables_memory(n_servers: int, filter_tables: int, filter_slots: int) -> list[TableMemory]:
    """Tables of a switch with room for `n_servers`, each behind a port of its own, and for the
    first 1023 interfaces."""
    groups = n_servers * (n_servers - 1)
    return [
        _array(MapName.GROUPS, groups + 1, ctypes.sizeof(tables.Group)),
        _array(MapName.SERVERS, tables.MAX_SERVERS, ctypes.sizeof(tables.Server)),
        _array(MapName.STATE, tables.MAX_SERVERS, 4),
        _array(MapName.HEALTH, tables.MAX_SERVERS, ctypes.sizeof(tables.Health)),
        _array(MapName.FILTER, filter_tables * filter_slots, _WORD),
        _array(MapName.REQUESTS, 1 << tables.REQUEST_SLOTS_LOG2, _WORD),
        _array(MapName.ATTEMPTS, 1 << tables.REQUEST_SLOTS_LOG2, _WORD),
        _array(MapName.FDB, 1 << tables.FDB_SLOTS_LOG2, _WORD),
        _array(MapName.SWITCH_CONFIG, 1, ctypes.sizeof(tables.SwitchConfig)),
        _array(MapName.SEQUENCE, 1, _WORD),
        _per_cpu(MapName.TURN, 1, _WORD),
        _per_cpu(MapName.SCRATCH, 1, _SCRATCH_BYTES),
        _per_cpu(MapName.COUNTERS, len(Hook), _WORD * len(counters.names())),
        _array(MapName.PORTS, tables.DEFAULT_PORT_ENTRIES, _WORD),
        _array(MapName.CLONE_PORTS, groups + 1, _WORD),
        TableMemory(_PAIRS, groups, groups * _PAIR_DEVMAP_BYTES),
    ]


def counted_by_kernel(attachment: Attachment) -> dict[str, int]:
    """Bytes of each table of a running switch, as the kernel accounts them."""
    counted = {}
    for name in _MAPS:
        with pinned_map(attachment, name) as table:
            counted[str(name)] = table.locked_bytes()
    with pinned_map(attachment, MapName.CLONE_PORTS) as outer:
        counted[_PAIRS] = _inner_bytes(outer)
    return counted


def _inner_bytes(outer: Map) -> int:
    """The maps in an array of maps, all of one size; groups may share one."""
    ids = set(memoryview(outer.values()).cast("I")) - {0}
    for number in ids:
        with contextlib.suppress(FileNotFoundError):  # replaced just now
            inner = maps.map_by_id(number)
            try:
                return len(ids) * inner.locked_bytes()
            finally:
                os.close(inner.fd)
    return 0


def total(sizes: list[TableMemory]) -> int:
    return sum(size.n_bytes for size in sizes)
