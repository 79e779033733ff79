# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How much memory a switch's tables take: from their sizes, and from the kernel's own count."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from netclone_host.bpf import abi

_WORD = 8
# What a DEVMAP of two entries takes beside its two pointers: struct bpf_dtab and two
# struct bpf_dtab_netdev (kernel 6.1 to 6.18: about this much, rounded to slab sizes).
_PAIR_DEVMAP_BYTES = 704


@dataclass(frozen=True)
class TableMemory:
    """One table: entries, and bytes of all of them."""

    name: str
    entries: int
    n_bytes: int


def _array(name: str, entries: int, value_size: int) -> TableMemory:
    """An ARRAY map keeps its values at multiples of eight bytes."""
    return TableMemory(name, entries, entries * (-(-value_size // _WORD) * _WORD))


def tables_memory(
    n_servers: int, filter_tables: int, filter_slots: int, n_ports: int | None = None
) -> list[TableMemory]:
    """Tables of a switch with room for `n_servers`, each server behind a port of its own
    unless `n_ports` says otherwise."""
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
        _array("nc_clone_ports", groups + 1, _WORD),
        TableMemory("devmaps of port pairs", pairs, pairs * _PAIR_DEVMAP_BYTES),
    ]


def total(tables: list[TableMemory]) -> int:
    return sum(table.n_bytes for table in tables)
