# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a running XDP switch holds, read from its pinned maps as a plan."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address

from netclone_host.attach.settings import ServerEntry
from netclone_host.attach.table_access import table
from netclone_host.attach.tables import FDB_FIXED, MapName, Server, ServerFlag, SwitchConfig
from netclone_host.control.entries import Action, Key, Plan, Value
from netclone_host.control.xdp.deleted_ports import GonePort, port_name
from netclone_host.control.xdp.fields import config_fields, number, port_of
from netclone_host.control.xdp.plan import SET, server_fields
from netclone_host.kernel import maps
from netclone_host.kernel.maps import Map


def read(opened: Mapping[str, Map], desired: Plan) -> Plan:
    """In what the data plane writes, too (the forwarding cache), and among ports, only what
    `desired` names."""
    config = table(opened, SwitchConfig)[0]
    entries = {Key(MapName.SWITCH_CONFIG, (("index", 0),)): Action(SET, config_fields(config))}
    entries.update(_read_groups(opened, config.n_groups, desired))
    entries.update(
        (Key(MapName.SERVERS, (("sid", sid),)), Action(SET, server_fields(server)))
        for sid, server in address_table(opened).items()
    )
    entries.update(_read_ports(opened[MapName.PORTS]))
    entries.update(_read_fdb(opened[MapName.FDB], desired))
    entries.update(_behind_gone_ports(desired))
    # Ports of clients belong to the attachment, not to the topology.
    return Plan(
        {k: v for k, v in entries.items() if k.table != MapName.PORTS or k in desired.entries}
    )


def group_table(groups: Map) -> list[tuple[int, int]]:
    """Both candidates of each GRP from 0 on, in range or not; a group that was never written, such
    as GRP 0, names one server twice."""
    words = memoryview(groups.values()).cast("H")
    return list(zip(words[::2], words[1::2], strict=True))


def address_table(opened: Mapping[str, Map]) -> dict[int, ServerEntry]:
    """Server id -> its row."""
    rows, ports = table(opened, Server).rows(), ports_of_servers(opened)
    return {sid: _server_entry(rows[sid], port) for sid, port in ports.items()}


def out_of_use(opened: Mapping[str, Map]) -> tuple[int, ...]:
    """Servers that are no candidates because their port was down (`port_agent`)."""
    rows = enumerate(table(opened, Server).rows())
    return tuple(sid for sid, row in rows if row.flags & ServerFlag.VALID and not row.ifindex)


def ports_of_servers(opened: Mapping[str, Map]) -> dict[int, int]:
    """Server id -> index of its port, which the row of one that is out of use does not have; 0
    where its link was deleted meanwhile."""
    rows = enumerate(table(opened, Server).rows())
    ports = {sid: row.ifindex for sid, row in rows if row.flags & ServerFlag.VALID}
    unknown = {sid for sid, port in ports.items() if not port}
    for grp, pair in enumerate(group_table(opened[MapName.GROUPS]) if unknown else []):
        if not unknown:
            break
        inner = opened[MapName.CLONE_PORTS].number(grp) if unknown & set(pair) else 0
        for sid, port in zip(pair, _pair(inner), strict=True) if inner else ():
            if sid in unknown and port:
                ports[sid] = port
                unknown.remove(sid)
    return ports


def _server_entry(row: Server, port: int) -> ServerEntry:
    """The inverse of `encoding.address_entry`."""
    ip4, ip6 = IPv4Address(bytes(row.ip4)), IPv6Address(bytes(row.ip6))
    return ServerEntry(
        mac=bytes(row.mac),
        ip4=ip4 if int(ip4) else None,
        ip6=ip6 if int(ip6) else None,
        port=port_name(port),
    )


def _read_groups(opened: Mapping[str, Map], n_groups: int, desired: Plan) -> dict[Key, Action]:
    """Groups in range, and what a killed change left beyond, where no packet gets."""
    pairs = group_table(opened[MapName.GROUPS])
    last = max((grp for grp, (first, second) in enumerate(pairs) if first != second), default=0)
    entries = {}
    pair_of = functools.cache(_read_pair)  # groups that leave by the same ports share a map
    for grp in range(1, len(pairs)):
        first, second = pairs[grp]
        inner = opened[MapName.CLONE_PORTS].number(grp)
        if grp > max(last, n_groups) and not inner:
            break
        if grp <= n_groups or first != second:
            entries[Key(MapName.GROUPS, (("grp", grp),))] = Action(
                SET, (("first", first), ("second", second))
            )
        if inner:
            key = Key(MapName.CLONE_PORTS, (("grp", grp),))
            found = pair_of(inner)
            wanted = desired.entries.get(key)
            entries[key] = found if wanted is None else _as_desired(found, wanted)
    return entries


def _read_pair(map_id: int) -> Action:
    first, second = map(port_name, _pair(map_id))
    return Action(SET, (("first", first), ("second", second)))


def _pair(map_id: int) -> list[int]:
    """Indices of the ports of a group's devmap."""
    devmap = maps.map_by_id(map_id)
    try:
        return [value.ifindex for value in maps.devmap_values(devmap)]
    finally:
        os.close(devmap.fd)


def _as_desired(found: Action, desired: Action) -> Action:
    """The kernel removes a deleted link from the devmaps, so its index is lost."""

    def one(mine: tuple[str, Value], theirs: tuple[str, Value]) -> tuple[str, Value]:
        both_gone = isinstance(mine[1], GonePort) and isinstance(theirs[1], GonePort)
        return theirs if both_gone else mine

    return Action(SET, tuple(map(one, found.params, desired.params)))


def _behind_gone_ports(desired: Plan) -> dict[Key, Action]:
    """Entries that lead to a deleted port cannot be written, and nothing needs them."""
    ports = {key: port_of(key.match) for key in desired.table(MapName.PORTS)}
    ports |= {key: port_of(action.params) for key, action in desired.table(MapName.FDB).items()}
    return {key: desired.entries[key] for key, port in ports.items() if isinstance(port, GonePort)}


def _read_ports(ports: Map) -> dict[Key, Action]:
    indices = [int.from_bytes(key, "little") for key in ports.each_key() if ports.lookup(key)]
    return {Key(MapName.PORTS, (("port", port_name(ifindex)),)): Action(SET) for ifindex in indices}


def _read_fdb(fdb: Map, desired: Plan) -> dict[Key, Action]:
    """Servers only: the data plane owns what it has learned."""
    entries = {}
    for key in desired.table(MapName.FDB):
        word = fdb.number(number(key)) & ~FDB_FIXED
        if word:
            mac = (word >> 16).to_bytes(6, "big").hex(":")
            entries[key] = Action(SET, (("mac", mac), ("port", port_name(word & 0xFFFF))))
    return entries
