# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The table of clone ports: for each group a devmap of the two ports that it leaves by.

Groups that leave by the same two ports share a devmap. The kernel frees a map with its last
user, so none has to be removed.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from pathlib import Path

from netclone_host.attach.tables import MapName
from netclone_host.kernel import maps
from netclone_host.kernel.maps import DevmapValue, Map

PortPair = tuple[int, int]
"""Indices of the interfaces that the first and the second candidate sit behind; 0 for an
interface that was deleted."""

# Descriptors left for whatever else the process opens meanwhile; and the least to try with.
_SPARE_DESCRIPTORS = 64
_FEWEST_PAIRS = 16


def write(outer: Map, pair_of: Mapping[int, PortPair], clone_program: int) -> None:
    """Give each GRP its pair; the program (a file descriptor) marks the clone."""
    groups_of: dict[PortPair, list[int]] = {}
    for grp, pair in pair_of.items():
        groups_of.setdefault(pair, []).append(grp)
    pairs = list(groups_of)
    # 256 servers have 65,280 pairs: more than may be open at once.
    room = _room_for_descriptors()
    for start in range(0, len(pairs), room):
        some = pairs[start : start + room]
        _write_pairs(outer, {pair: groups_of[pair] for pair in some}, clone_program)


def _write_pairs(outer: Map, groups_of: Mapping[PortPair, list[int]], clone_program: int) -> None:
    opened: list[Map] = []
    entries: dict[int, int] = {}
    try:
        for pair, groups in groups_of.items():
            opened.append(pair_devmap())
            _fill(opened[-1], pair, clone_program)
            entries.update(dict.fromkeys(groups, opened[-1].fd))
        outer.update_many(entries)
    finally:
        # The outer map holds a reference of its own.
        for devmap in opened:
            os.close(devmap.fd)


def pair_devmap() -> Map:
    """An empty devmap of the kind that the table holds. The caller closes it."""
    return maps.create_devmap(MapName.PAIR_PORTS, 2)


def _fill(devmap: Map, pair: PortPair, clone_program: int) -> None:
    """Both entries name the program, and so do the servers' ports in `nc_ports`: the kernel
    runs one program over all frames that a poll sends to a port (see nc_switch_egress)."""
    for position, ifindex in enumerate(pair):
        if ifindex:
            devmap.update(position, DevmapValue(ifindex, clone_program))


def _room_for_descriptors() -> int:
    """How many more files this process may open, with the limit raised as far as it goes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    in_use = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return max(_FEWEST_PAIRS, hard - in_use - _SPARE_DESCRIPTORS)
