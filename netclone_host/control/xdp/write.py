# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Desired tables -> the maps of the loaded XDP programs."""

from __future__ import annotations

import ctypes
import os
import resource
import secrets
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from netclone_host.attach import tables as abi
from netclone_host.attach.loaders.base import LoadedObject
from netclone_host.control import plan
from netclone_host.control.plan import ClientSettings, ServerSettings, SwitchTables
from netclone_host.control.xdp.deleted_ports import port_name
from netclone_host.control.xdp.fields import config_value
from netclone_host.control.xdp.plan import tables_config
from netclone_host.kernel import maps
from netclone_host.kernel.maps import Map, MapType
from netclone_host.topology import PortName

# The published prototype's client has an array of 10^8 entries that it indexes by REQ_ID: the
# sequence starts low enough for tens of millions of requests to stay inside it.
_FIRST_ID_BITS = 26

# Descriptors left for whatever else the process opens meanwhile; and the least to try with.
_SPARE_DESCRIPTORS = 64
_FEWEST_PAIRS = 16

IfindexOf = Mapping[PortName, int]
"""Port of the topology -> index of the interface in this network namespace."""


def switch_sizes(tables: SwitchTables, ifindices: Iterable[int]) -> dict[str, int]:
    """max_entries of the maps that depend on the topology and on the interfaces' indices.
    GRP 0 takes an entry too."""
    room = max(tables.n_groups, tables.capacity * (tables.capacity - 1)) + 1
    return {
        "nc_groups": room,
        "nc_clone_ports": room,
        "nc_filter": tables.filter_tables * tables.filter_slots,
        "nc_ports": max([abi.DEFAULT_PORT_ENTRIES, *(index + 1 for index in ifindices)]),
    }


def write_switch(
    loaded: LoadedObject,
    tables: SwitchTables,
    ifindex_of: IfindexOf,
    attached: Iterable[int],
    flags: abi.SwitchFlag,
) -> None:
    """Fill every table of a switch. The filter tables and the states are fresh, and the
    sequence starts at random: a restarted switch repeats no recent id."""
    maps = loaded.maps
    maps["nc_sequence"].update(0, secrets.randbits(_FIRST_ID_BITS))
    for sid, server in tables.servers.items():
        maps["nc_servers"].update(sid, address_entry(server, ifindex_of[server.port]))
    maps["nc_groups"].update_many(
        {grp: abi.Group(first, second) for grp, (first, second) in tables.groups.items()}
    )
    for mac, port in tables.forwarding().items():
        if (ifindex := ifindex_of[port]) <= plan.MAX_LEARNED_PORT:
            maps["nc_fdb"].update(plan.fdb_slot(mac), plan.fdb_entry(mac, ifindex))
    known_ports = {ifindex_of[server.port] for server in tables.servers.values()}
    program = loaded.programs["nc_switch_clone"]
    for ifindex in known_ports | set(attached):
        entry = abi.DevmapValue(ifindex, program if ifindex in known_ports else 0)
        maps["nc_ports"].update(ifindex, entry)
    write_clone_ports(
        maps["nc_clone_ports"],
        tables.clone_ports(),
        ifindex_of,
        program,
    )
    maps["nc_switch_cfg"].update(0, config_value(tables_config(tables), flags))


def write_clone_ports(
    outer: Map,
    clone_ports: Mapping[int, tuple[PortName, PortName]],
    ifindex_of: IfindexOf,
    clone_program: int,
) -> None:
    """One devmap for each pair of ports, shared by the groups that leave by that pair. Index 0
    stands for a port that is gone."""
    groups_of: dict[tuple[int, int], list[int]] = {}
    for grp, (first, second) in clone_ports.items():
        groups_of.setdefault((ifindex_of[first], ifindex_of[second]), []).append(grp)
    pairs = list(groups_of)
    # 256 servers have 65,280 pairs: more than may be open at once.
    room = _room_for_descriptors()
    for start in range(0, len(pairs), room):
        some = pairs[start : start + room]
        _write_pairs(outer, {pair: groups_of[pair] for pair in some}, clone_program)


def _write_pairs(
    outer: Map, groups_of: Mapping[tuple[int, int], list[int]], clone_program: int
) -> None:
    opened: list[Map] = []
    entries: dict[int, int] = {}
    try:
        for pair, groups in groups_of.items():
            opened.append(_pair_devmap(pair, clone_program))
            entries.update(dict.fromkeys(groups, opened[-1].fd))
        outer.update_many(entries)
    finally:
        # The outer map holds a reference of its own.
        for devmap in opened:
            os.close(devmap.fd)


def _room_for_descriptors() -> int:
    """How many more files this process may open, with the limit raised as far as it goes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    in_use = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return max(_FEWEST_PAIRS, hard - in_use - _SPARE_DESCRIPTORS)


def _pair_devmap(pair: tuple[int, int], clone_program: int) -> Map:
    """Both entries name the program, and so do the servers' ports in `nc_ports`: the kernel
    runs one program over all frames that a poll sends to a port (see nc_leave)."""
    size = ctypes.sizeof(abi.DevmapValue)
    devmap = maps.create_map(MapType.DEVMAP, "nc_pair_ports", 4, size, 2)
    for position, ifindex in enumerate(pair):
        if ifindex:
            devmap.update(position, abi.DevmapValue(ifindex, clone_program))
    return devmap


def address_entry(server: plan.ServerEntry, ifindex: int) -> abi.Server:
    return abi.Server(
        flags=abi.ServerFlag.VALID,
        ifindex=ifindex,
        ip4=_octets(server.ip4.packed if server.ip4 else bytes(4)),
        mac=_octets(server.mac),
        ip6=_octets(server.ip6.packed if server.ip6 else bytes(16)),
    )


def server_entry(row: abi.Server) -> plan.ServerEntry:
    """The inverse of `address_entry`."""
    ip4, ip6 = IPv4Address(bytes(row.ip4)), IPv6Address(bytes(row.ip6))
    return plan.ServerEntry(
        mac=bytes(row.mac),
        ip4=ip4 if int(ip4) else None,
        ip6=ip6 if int(ip6) else None,
        port=port_name(row.ifindex),
    )


def _octets(value: bytes) -> ctypes.Array[ctypes.c_uint8]:
    return (ctypes.c_uint8 * len(value))(*value)


def write_server(loaded: LoadedObject, settings: ServerSettings) -> None:
    shift, slices = plan.timeout_slices(settings.request_timeout_ns)
    loaded.maps["nc_server_cfg"].update(
        0,
        abi.ServerConfig(
            ports=abi.Ports.of(settings.ports),
            sid=settings.sid,
            workers=settings.workers,
            state_source=settings.state,
            slice_shift=shift,
            slices=slices,
            n_filter_tables=settings.filter_tables,
            flags=abi.HostFlag.RESERVE if settings.reserve else 0,
        ),
    )


def write_client(loaded: LoadedObject, settings: ClientSettings) -> None:
    loaded.maps["nc_client_cfg"].update(
        0,
        abi.ClientConfig(
            ports=abi.Ports.of(settings.ports),
            n_groups=settings.n_groups,
            n_filter_tables=settings.filter_tables,
            duplicate_window_ns=settings.duplicate_window_ns,
        ),
    )
