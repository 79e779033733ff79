# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a running XDP switch holds, read through its pinned maps in the words of a plan."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Mapping

from netclone_host.attach import tables
from netclone_host.control.entries import Action, Key, Plan, Value
from netclone_host.control.plan import ServerEntry
from netclone_host.control.xdp import write
from netclone_host.control.xdp.deleted_ports import GonePort, port_name
from netclone_host.control.xdp.fields import config_fields, number, port_of
from netclone_host.control.xdp.plan import (
    CLONE_PORTS,
    CONFIG,
    FDB,
    GROUPS,
    PORTS,
    SERVERS,
    SET,
    server_fields,
)
from netclone_host.kernel import maps
from netclone_host.kernel.maps import Map


def read(maps: Mapping[str, Map], desired: Plan) -> Plan:
    """Of what the data plane writes too (the forwarding cache), and of ports, only what
    `desired` names."""
    config = tables.SwitchConfig.from_buffer_copy(maps[CONFIG].lookup(0) or b"")
    entries = {Key(CONFIG, (("index", 0),)): Action(SET, config_fields(config))}
    entries.update(_read_groups(maps, config.n_groups, desired))
    entries.update(
        (Key(SERVERS, (("sid", sid),)), Action(SET, server_fields(server)))
        for sid, server in address_table(maps[SERVERS]).items()
    )
    entries.update(_read_ports(maps[PORTS]))
    entries.update(_read_fdb(maps[FDB], desired))
    entries.update(_behind_gone_ports(desired))
    # Ports of clients belong to the attachment, not to the topology.
    return Plan({k: v for k, v in entries.items() if k.table != PORTS or k in desired.entries})


def group_table(groups: Map) -> list[tuple[int, int]]:
    """Both candidates of each GRP from 0 on, in range or not; what was never written, as
    GRP 0, names one server twice."""
    words = memoryview(groups.values()).cast("H")
    return list(zip(words[::2], words[1::2], strict=True))


def address_table(servers: Map) -> dict[int, ServerEntry]:
    """Server id -> its row."""
    size = ctypes.sizeof(tables.Server)
    raw = servers.values()
    rows = (tables.Server.from_buffer_copy(raw, sid * size) for sid in range(servers.max_entries))
    return {
        sid: write.server_entry(row)
        for sid, row in enumerate(rows)
        if row.flags & tables.ServerFlag.VALID
    }


def _read_groups(maps: Mapping[str, Map], n_groups: int, desired: Plan) -> dict[Key, Action]:
    """Those in range, and what a change that was killed left beyond: no packet gets there."""
    pairs = group_table(maps[GROUPS])
    last = max((grp for grp, (first, second) in enumerate(pairs) if first != second), default=0)
    entries = {}
    pair_of = functools.cache(_read_pair)  # groups that leave by the same ports share a map
    for grp in range(1, len(pairs)):
        first, second = pairs[grp]
        inner = maps[CLONE_PORTS].lookup(grp)
        if grp > max(last, n_groups) and inner is None:
            break
        if grp <= n_groups or first != second:
            entries[Key(GROUPS, (("grp", grp),))] = Action(
                SET, (("first", first), ("second", second))
            )
        if inner is not None:
            key = Key(CLONE_PORTS, (("grp", grp),))
            found = pair_of(int.from_bytes(inner, "little"))
            entries[key] = _as_desired(found, desired.entries.get(key, found))
    return entries


def _read_pair(map_id: int) -> Action:
    devmap = maps.map_by_id(map_id)
    try:
        first, second = (
            tables.DevmapValue.from_buffer_copy(devmap.lookup(position) or bytes(8)).ifindex
            for position in (0, 1)
        )
    finally:
        os.close(devmap.fd)
    return Action(SET, (("first", port_name(first)), ("second", port_name(second))))


def _as_desired(found: Action, desired: Action) -> Action:
    """The kernel takes a deleted link out of the devmaps, so which one it was is lost."""

    def one(mine: tuple[str, Value], theirs: tuple[str, Value]) -> tuple[str, Value]:
        both_gone = isinstance(mine[1], GonePort) and isinstance(theirs[1], GonePort)
        return theirs if both_gone else mine

    return Action(SET, tuple(map(one, found.params, desired.params)))


def _behind_gone_ports(desired: Plan) -> dict[Key, Action]:
    """Entries that lead to a port that is gone cannot be written, and nothing misses them."""
    ports = {key: port_of(key.match) for key in desired.table(PORTS)}
    ports |= {key: port_of(action.params) for key, action in desired.table(FDB).items()}
    return {key: desired.entries[key] for key, port in ports.items() if isinstance(port, GonePort)}


def _read_ports(ports: Map) -> dict[Key, Action]:
    indices = [int.from_bytes(key, "little") for key in ports.each_key() if ports.lookup(key)]
    return {Key(PORTS, (("port", port_name(ifindex)),)): Action(SET) for ifindex in indices}


def _read_fdb(fdb: Map, desired: Plan) -> dict[Key, Action]:
    """Of the servers only: what was learned is the data plane's."""
    entries = {}
    for key in desired.table(FDB):
        word = int.from_bytes(fdb.lookup(number(key)) or b"", "little")
        if word:
            mac = (word >> 16).to_bytes(6, "big").hex(":")
            entries[key] = Action(SET, (("mac", mac), ("port", port_name(word & 0xFFFF))))
    return entries
