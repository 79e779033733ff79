# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether a plan fits an XDP switch, its maps and its namespace: checked before anything is
written."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from netclone_host.attach.tables import MapName
from netclone_host.control.entries import Action, Key
from netclone_host.control.xdp.deleted_ports import GonePort
from netclone_host.control.xdp.fields import number, of_table, port_of
from netclone_host.errors import UserError
from netclone_host.kernel.maps import Map
from netclone_host.topology import PortName


def interfaces(written: Mapping[Key, Action]) -> dict[PortName, int]:
    """Index of every port in the plan. UserError if this namespace lacks one."""
    names: set[PortName] = {port_of(key.match) for key in of_table(written, MapName.PORTS)}
    for table in (MapName.SERVERS, MapName.FDB):
        names |= {port_of(action.params) for action in of_table(written, table).values()}
    for action in of_table(written, MapName.CLONE_PORTS).values():
        names |= {value for _, value in action.params}
    indices: dict[PortName, int] = {}
    for name in names:
        if isinstance(name, GonePort):
            indices[name] = name.ifindex
            continue
        try:
            indices[name] = socket.if_nametoindex(str(name))
        except OSError:
            raise UserError(
                f"this network namespace has no interface {name}",
                hint="the ports of an XDP switch are names of links; if one was deleted, leave its "
                "server out (--without-server ID), or detach, make the link and attach again",
            ) from None
    return indices


def check_room(maps: Mapping[str, Map], written: Mapping[Key, Action]) -> None:
    """Maps keep the size that they had when attached."""
    for table in (MapName.GROUPS, MapName.CLONE_PORTS):
        room = maps[table].max_entries
        highest = max((number(key) for key in of_table(written, table)), default=0)
        if highest >= room:
            raise UserError(
                f"table {table} holds {room - 1} groups, the topology needs {highest}",
                hint="detach the switch and attach it again, with a larger capacity in [switch]",
            )
    for action in of_table(written, MapName.SWITCH_CONFIG).values():
        values = dict(action.params)
        wanted = int(values["n_filter_tables"]) * (int(values["filter_mask"]) + 1)
        room = maps[MapName.FILTER].max_entries
        if wanted > room:
            raise UserError(
                f"table {MapName.FILTER} holds {room} slots, the topology needs {wanted}",
                hint="detach the switch and attach it again with this topology",
            )


def check_ports(table: Map, ports: Mapping[PortName, int]) -> None:
    """The array of ports is indexed by interface and sized for those that attach knew."""
    for name, ifindex in ports.items():
        if ifindex >= table.max_entries:
            raise UserError(
                f"table {MapName.PORTS} holds interfaces with an index below {table.max_entries}, "
                f"{name} has {ifindex}",
                hint="detach the switch and attach it again with this topology",
            )
