# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Topology -> the tables of the P4 programs (p4/shared), the same for BMv2 and Tofino."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netclone_host.control import limits
from netclone_host.control.entries import Action, Key, Plan, Replica
from netclone_host.errors import UserError
from netclone_host.topology import Server, Topology

BROADCAST_MAC = "ff:ff:ff:ff:ff:ff"
MULTICAST_FLOOD = 1
MULTICAST_OF_SERVER = 0x100
"""The group of a first server: this bit and its id."""
REPLICA_CLONE = 1
"""Replication id of the clone."""
FDB_SLOTS = 4096


@dataclass(frozen=True)
class Target:
    """How BMv2 and Tofino differ."""

    name: str
    limits: limits.Limits
    clone_port: int
    """The port through which the clone comes back for its second pass."""
    has_forwarding_cache: bool
    """Whether the program learns clients itself."""
    fixed_filter_slots: bool
    """Whether the number of slots of a filter table is compiled in."""
    unknown_host: Action
    """Default action for an unknown destination."""


BMV2 = Target(
    "bmv2",
    limits.BMV2,
    clone_port=510,
    has_forwarding_cache=True,
    fixed_filter_slots=False,
    unknown_host=Action("flood"),
)
TOFINO = Target(
    "tofino",
    limits.TOFINO,
    clone_port=68,
    has_forwarding_cache=False,
    fixed_filter_slots=True,
    unknown_host=Action("flood"),
)

# The controls that declare the tables; the full name of one is SwitchIngress.<control>.<table>.
_OPERANDS = "SwitchIngress.operands"
_ADDRESS = "SwitchIngress.address"
_HOSTS = "SwitchIngress.hosts.hosts"
_SETTINGS = "SwitchIngress.settings"
_FDB = "fdb"


def p4_plan(topology: Topology, target: Target) -> Plan:
    """All tables that the program needs for this rack. UserError if they do not fit."""
    _check_rules(topology)
    limits.check_filter_tables(topology.switch.filter_tables, target.limits)
    _check_filter_slots(topology, target)
    entries = dict(_entries(topology, target))
    plan = Plan(entries, dict(_multicast(topology, target)))
    limits.check(plan, target.limits)
    return plan


def fdb_slot(mac: str) -> int:
    """Slot of an address in the forwarding cache (docs/data-plane.md)."""
    value = int(mac.replace(":", ""), 16)
    return (value ^ (value >> 12) ^ (value >> 24)) % FDB_SLOTS


def fdb_word(mac: str, port: int) -> int:
    """Entry of the forwarding cache: the port above the address, so that Thrift's signed 64 bits
    hold it whatever the address."""
    return port << 48 | int(mac.replace(":", ""), 16)


def _entries(topology: Topology, target: Target) -> Iterator[tuple[Key, Action]]:
    yield _settings(topology, target)
    yield from _operands(topology)
    yield from _groups(topology)
    for server in topology.servers:
        yield from _server(server)
    yield from _forwarding(topology, target)


def _settings(topology: Topology, target: Target) -> tuple[Key, Action]:
    switch = topology.switch
    # RackSched alone chooses as RackSched does.
    shorter_queue = switch.racksched or not switch.cloning
    params: tuple[tuple[str, int], ...] = (
        ("racksched", int(shorter_queue)),
        ("cloning", int(switch.cloning)),
    )
    if not target.fixed_filter_slots:
        params += (("filter_slot_mask", switch.filter_slots - 1),)
    return Key(_SETTINGS), Action("configure", params)


def _operands(topology: Topology) -> Iterator[tuple[Key, Action]]:
    switch = topology.switch
    for port in switch.ports:
        yield (
            Key(f"{_OPERANDS}.destination_ports", (("destination_port", port),)),
            Action("to_netclone"),
        )
        yield Key(f"{_OPERANDS}.source_ports", (("source_port", port),)), Action("from_netclone")
    for index in range(switch.filter_tables):
        yield Key(f"{_OPERANDS}.filter_tables", (("idx", index),)), Action("filter_exists")
    for switch_id in sorted({0, switch.id}):
        yield (
            Key(f"{_OPERANDS}.switch_ids", (("switch_id", switch_id),)),
            Action("claimed", (("own_id", switch.id),)),
        )


def _groups(topology: Topology) -> Iterator[tuple[Key, Action]]:
    has_v4 = {server.id: server.ip4 is not None for server in topology.servers}
    has_v6 = {server.id: server.ip6 is not None for server in topology.servers}
    for group, (first, second) in topology.groups().items():
        yield (
            Key(f"{_OPERANDS}.groups", (("grp", group),)),
            Action(
                "candidates",
                (
                    ("first", first),
                    ("second", second),
                    ("usable_v4", has_v4[first] << 1 | has_v4[second]),
                    ("usable_v6", has_v6[first] << 1 | has_v6[second]),
                ),
            ),
        )


def _server(server: Server) -> Iterator[tuple[Key, Action]]:
    port = port_number(server.port, f"server {server.id}")
    for version, address in (("v4", server.ip4), ("v6", server.ip6)):
        if address is None:
            continue
        yield (
            Key(f"{_OPERANDS}.sources_{version}", (("sid", server.id), ("src_addr", str(address)))),
            Action("source_is_server"),
        )
        yield (
            Key(f"{_ADDRESS}.addresses_{version}", (("chosen", server.id),)),
            Action(
                f"to_ip{version}",
                (("address", str(address)), ("mac", server.mac), ("port", port)),
            ),
        )


def _forwarding(topology: Topology, target: Target) -> Iterator[tuple[Key, Action]]:
    yield Key(_HOSTS), target.unknown_host
    yield Key(_HOSTS, (("dst_addr", BROADCAST_MAC),)), Action("flood")
    for mac, port in _host_ports(topology):
        yield Key(_HOSTS, (("dst_addr", mac),)), Action("to_port", (("port", port),))
    if target.has_forwarding_cache:
        for server in topology.servers:
            value = fdb_word(server.mac, port_number(server.port, f"server {server.id}"))
            yield (
                Key(_FDB, (("index", fdb_slot(server.mac)),)),
                Action("write", (("value", value),)),
            )


def _multicast(topology: Topology, target: Target) -> Iterator[tuple[int, tuple[Replica, ...]]]:
    ports = sorted({port for _, port in _host_ports(topology)})
    yield MULTICAST_FLOOD, tuple(Replica(port) for port in ports)
    for server in topology.servers:
        port = port_number(server.port, f"server {server.id}")
        yield (
            MULTICAST_OF_SERVER | server.id,
            (Replica(port), Replica(target.clone_port, REPLICA_CLONE)),
        )


def _host_ports(topology: Topology) -> list[tuple[str, int]]:
    hosts = [(s.mac, port_number(s.port, f"server {s.id}")) for s in topology.servers]
    return hosts + [(c.mac, port_number(c.port, f"client {c.name}")) for c in topology.clients]


def port_number(port: int | str, owner: str) -> int:
    """P4 switches have port numbers; link names are for XDP."""
    if isinstance(port, int):
        return port
    if port.isdecimal():
        return int(port)
    raise UserError(
        f"{owner}: port {port!r} is not a port number",
        hint="a P4 switch numbers its ports: write port = 1, as the switch counts them",
    )


def _check_rules(topology: Topology) -> None:
    """Refuse the rules of docs/data-plane.md that the P4 programs lack."""
    if topology.switch.server_timeout_ms:
        raise UserError(
            "the P4 programs do not detect failed servers",
            hint="set server_timeout_ms = 0 in [switch]; take a failed server out with "
            "--without-server",
        )
    if topology.switch.reserve:
        raise UserError(
            "the P4 programs do not have the reserve rule",
            hint="set reserve = false in [switch]",
        )


def _check_filter_slots(topology: Topology, target: Target) -> None:
    slots = topology.switch.filter_slots
    if slots == limits.FILTER_SLOTS or (
        not target.fixed_filter_slots and slots < limits.FILTER_SLOTS
    ):
        return
    raise UserError(
        f"register filter has {limits.FILTER_SLOTS} slots a table, the topology wants {slots}",
        hint=f"set filter_slots = {limits.FILTER_SLOTS} in [switch]",
    )
