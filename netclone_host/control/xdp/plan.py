# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Topology -> the maps of the XDP switch, as a plan like that of any switch.

Ports are names: only the machine that has the interfaces knows their indices.
"""

from __future__ import annotations

from collections.abc import Iterator

from netclone_host.attach.encoding import fdb_slot
from netclone_host.attach.settings import ServerEntry, SwitchTables, switch_tables
from netclone_host.attach.tables import MapName
from netclone_host.control.entries import Action, Fields, Key, Plan
from netclone_host.topology import Topology

SET = "set"


def xdp_plan(topology: Topology) -> Plan:
    """Everything that the control plane writes into the maps."""
    return tables_plan(switch_tables(topology))


def tables_plan(tables: SwitchTables) -> Plan:
    """The same for tables that need not come from a topology file."""
    return Plan(dict(_entries(tables)))


def _entries(tables: SwitchTables) -> Iterator[tuple[Key, Action]]:
    yield Key(MapName.SWITCH_CONFIG, (("index", 0),)), Action(SET, tables_config(tables))
    for grp, (first, second) in tables.groups.items():
        yield (
            Key(MapName.GROUPS, (("grp", grp),)),
            Action(SET, (("first", first), ("second", second))),
        )
    for grp, (first_port, second_port) in tables.clone_ports().items():
        yield (
            Key(MapName.CLONE_PORTS, (("grp", grp),)),
            Action(SET, (("first", first_port), ("second", second_port))),
        )
    for sid, server in tables.servers.items():
        yield Key(MapName.SERVERS, (("sid", sid),)), Action(SET, server_fields(server))
        yield Key(MapName.PORTS, (("port", server.port),)), Action(SET)
    for mac, port in tables.forwarding().items():
        yield (
            Key(MapName.FDB, (("slot", fdb_slot(mac)),)),
            Action(SET, (("mac", mac.hex(":")), ("port", port))),
        )


def tables_config(tables: SwitchTables) -> Fields:
    """The configuration, in the order of `xdp_fields`."""
    return (
        ("ports", " ".join(map(str, tables.ports))),
        ("racksched", int(tables.racksched)),
        ("cloning", int(tables.cloning)),
        ("reserve", int(tables.reserve)),
        ("n_groups", tables.n_groups),
        ("n_filter_tables", tables.filter_tables),
        ("filter_mask", tables.filter_slots - 1),
        ("switch_id", tables.switch_id),
        ("server_timeout_ns", tables.server_timeout_ns),
        ("state_timeout_ns", tables.state_timeout_ns),
        ("clone_share", tables.clone_share),
        # What a change that was killed leaves behind (`control.hold`) is a difference.
        ("held", 0),
    )


def server_fields(server: ServerEntry) -> Fields:
    """A row of the address table, without missing addresses."""
    fields: Fields = (("mac", server.mac.hex(":")), ("port", server.port))
    if server.ip4 is not None:
        fields += (("ip4", str(server.ip4)),)
    if server.ip6 is not None:
        fields += (("ip6", str(server.ip6)),)
    return fields
