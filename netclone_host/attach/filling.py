# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Settings -> the maps of programs that were just loaded, before a packet reaches them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

from netclone_host.attach import clone_ports, encoding, tables
from netclone_host.attach.loaders.base import LoadedObject
from netclone_host.attach.roles import PROGRAMS, Role
from netclone_host.attach.settings import (
    ClientSettings,
    HostAddresses,
    ServerSettings,
    SwitchTables,
)
from netclone_host.attach.tables import MapName
from netclone_host.kernel import interfaces
from netclone_host.kernel.maps import DevmapValue
from netclone_host.topology import PortName

# The published prototype's client has an array of 10^8 entries that it indexes by REQ_ID: the
# sequence starts low enough for tens of millions of requests to stay inside it.
_FIRST_ID_BITS = 26

IfindexOf = Mapping[PortName, int]
"""Port of the topology -> index of the interface in this network namespace."""


def switch_sizes(switch: SwitchTables, ifindices: Iterable[int]) -> dict[str, int]:
    """max_entries of the maps that depend on the topology and on the interfaces' indices.
    GRP 0 takes an entry too."""
    ports = max([tables.DEFAULT_PORT_ENTRIES, *(index + 1 for index in ifindices)])
    room = max(switch.n_groups, switch.capacity * (switch.capacity - 1)) + 1
    return {
        MapName.GROUPS: room,
        MapName.CLONE_PORTS: room,
        MapName.FILTER: switch.filter_tables * switch.filter_slots,
        MapName.PORTS: ports,
        MapName.PORT_ROLES: ports,
    }


def fill_switch(
    loaded: LoadedObject,
    switch: SwitchTables,
    ifindex_of: IfindexOf,
    attached: Iterable[int],
    *,
    generic: bool,
) -> None:
    """Fill every table of a switch. The filter tables and the states are fresh, and the
    sequence starts at random: a restarted switch repeats no recent id."""
    maps, mtus = loaded.maps, interfaces.mtus()
    maps[MapName.SEQUENCE].update(0, secrets.randbits(_FIRST_ID_BITS))
    for sid, server in switch.servers.items():
        ifindex = ifindex_of[server.port]
        row = encoding.address_entry(server, ifindex, interfaces.longest_frame(mtus, ifindex))
        maps[MapName.SERVERS].update(sid, row)
    maps[MapName.GROUPS].update_many(
        {grp: tables.Group(first, second) for grp, (first, second) in switch.groups.items()}
    )
    clients = {mac: port for mac, port in switch.clients.items() if port in ifindex_of}
    for mac, port in {**clients, **switch.forwarding()}.items():
        if (ifindex := ifindex_of[port]) <= encoding.MAX_LEARNED_PORT:
            maps[MapName.FDB].update(encoding.fdb_slot(mac), encoding.fdb_entry(mac, ifindex))
    of_servers = {server.port for server in switch.servers.values()}
    for port in set(clients.values()) - of_servers:
        maps[MapName.PORT_ROLES].update(ifindex_of[port], tables.PORT_CLIENT)
    _fill_ports(loaded, switch, ifindex_of, attached)
    config = encoding.switch_config(switch, generic=generic)
    config.secret = secrets.randbits(64)
    lengths = [interfaces.longest_frame(mtus, ifindex_of[port]) for port in of_servers]
    config.longest_frame = min(lengths, default=0)
    maps[MapName.SWITCH_CONFIG].update(0, config)


def _fill_ports(
    loaded: LoadedObject, switch: SwitchTables, ifindex_of: IfindexOf, attached: Iterable[int]
) -> None:
    """Where frames may leave, and by which two ports the original and the clone of a group do."""
    program = loaded.programs[str(PROGRAMS[Role.SWITCH].devmap)]
    of_servers = {ifindex_of[server.port] for server in switch.servers.values()}
    for ifindex in of_servers | set(attached):
        entry = DevmapValue(ifindex, program if ifindex in of_servers else 0)
        loaded.maps[MapName.PORTS].update(ifindex, entry)
    pairs = {
        grp: (ifindex_of[first], ifindex_of[second])
        for grp, (first, second) in switch.clone_ports().items()
    }
    clone_ports.write(loaded.maps[MapName.CLONE_PORTS], pairs, program)


def fill_server(loaded: LoadedObject, settings: ServerSettings, known: HostAddresses) -> None:
    config = encoding.server_config(settings)
    config.host = encoding.host(known)
    loaded.maps[MapName.SERVER_CONFIG].update(0, config)


def fill_client(loaded: LoadedObject, settings: ClientSettings, known: HostAddresses) -> None:
    config = encoding.client_config(settings)
    config.host, config.secret = encoding.host(known), secrets.randbits(64)
    loaded.maps[MapName.CLIENT_CONFIG].update(0, config)


def known_addresses(ifindex: int) -> HostAddresses:
    """Of an interface as it is now. One that belongs to a bridge or bond goes by the names of
    that; one that has no address that others reach it by may get one: then any will do."""
    link = interfaces.addresses(ifindex)
    if link.has_master:
        return HostAddresses()
    reachable = any(
        not (address.is_link_local or address.is_loopback) for address in link.addresses
    )
    return HostAddresses(link.mac, link.addresses if reachable else ())
