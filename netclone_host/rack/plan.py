# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a rack consists of, as plain data: nodes, switches, links and their names.

Nothing here touches the machine; `build` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_network

from netclone_host.attach.roles import Role
from netclone_host.errors import UserError
from netclone_host.topology import (
    DEFAULT_CAPACITY,
    DEFAULT_WORKERS,
    MAX_SERVERS,
    MIN_SERVERS,
    Client,
    Server,
    Switch,
    Topology,
)

DEFAULT_SERVERS = 6
DEFAULT_CLIENTS = 2
MAX_CLIENTS = 100
MAX_RACKS = 2

NODE_LINK = "eth0"
BRIDGE = "br0"
TRUNK = "trunk"
_RESERVED_PORTS = (BRIDGE, TRUNK, "lo")
_RACK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")

_SERVER_BASE4 = IPv4Address("10.0.1.100")
_CLIENT_BASE4 = IPv4Address("10.0.1.0")
_SERVER_BASE6 = IPv6Address("fd00:1::100")
_CLIENT_BASE6 = IPv6Address("fd00:1::")


@dataclass(frozen=True)
class Node:
    """A host: a namespace with one interface, `eth0`, on one port of one switch."""

    name: str
    netns: str
    role: Role
    switch: str
    port: str
    mac: str
    ip4: IPv4Address | None
    ip6: IPv6Address | None
    server_id: int = 0
    workers: int = 0


@dataclass(frozen=True)
class SwitchNode:
    """A switch: a namespace with a Linux bridge, and the topology as it sees it."""

    name: str
    netns: str
    mac: str
    topology: Topology

    def ports(self, plan: Plan) -> list[str]:
        """Links that the switch program is attached to."""
        own = [node.port for node in plan.nodes if node.switch == self.name]
        return own + ([TRUNK] if len(plan.switches) > 1 else [])


@dataclass(frozen=True)
class Plan:
    """A whole rack (or two, joined by a trunk)."""

    name: str
    topology: Topology
    nodes: tuple[Node, ...]
    switches: tuple[SwitchNode, ...]
    prefix4: int
    prefix6: int

    @property
    def clients(self) -> list[Node]:
        """The client nodes, c1 first."""
        return [node for node in self.nodes if node.role is Role.CLIENT]

    @property
    def servers(self) -> list[Node]:
        """The server nodes, s1 first."""
        return [node for node in self.nodes if node.role is Role.SERVER]

    @property
    def members(self) -> tuple[Node | SwitchNode, ...]:
        """Everything that has a namespace of its own."""
        return self.nodes + self.switches

    def namespace(self, name: str) -> str:
        """The namespace of the node or switch called `name`."""
        for member in self.members:
            if member.name == name:
                return member.netns
        names = ", ".join(member.name for member in self.members)
        raise UserError(f"the rack has no node '{name}'", hint=f"its nodes are {names}")


def check_rack_name(name: str) -> str:
    """The name itself; it becomes the prefix of the namespaces' names."""
    if not _RACK_NAME.fullmatch(name):
        raise UserError(
            f"'{name}' cannot be the name of a rack",
            hint="use 1 to 32 letters, digits, - and _, a letter or digit first",
        )
    return name


def default_topology(
    n_servers: int = DEFAULT_SERVERS,
    n_clients: int = DEFAULT_CLIENTS,
    workers: int | tuple[int, ...] = DEFAULT_WORKERS,
    switch: Switch | None = None,
) -> Topology:
    """The rack that `rack up` builds without a topology file.

    Servers are 10.0.1.101 and fd00:1::101 and up, clients 10.0.1.1 and fd00:1::1.
    `workers` is one number for all servers or one for each.
    """
    if not MIN_SERVERS <= n_servers <= MAX_SERVERS:
        raise UserError(
            f"a rack cannot have {n_servers} servers: a group is a pair of different servers, "
            f"and ids end at {MAX_SERVERS - 1}",
            hint=f"give --servers {MIN_SERVERS} to {MAX_SERVERS}",
        )
    if not 1 <= n_clients <= MAX_CLIENTS:
        raise UserError(
            f"a rack cannot have {n_clients} clients", hint=f"give --clients 1 to {MAX_CLIENTS}"
        )
    per_server = (workers,) * n_servers if isinstance(workers, int) else workers
    if len(per_server) != n_servers:
        raise UserError(
            f"{len(per_server)} numbers of workers were given for {n_servers} servers",
            hint="give --workers one number for all servers, or one for each, joined by commas",
        )
    servers = tuple(
        Server(
            id=i,
            mac=_mac(0x0100 + i),
            port=f"s{i + 1}",
            ip4=_SERVER_BASE4 + 1 + i,
            ip6=_SERVER_BASE6 + 1 + i,
            workers=per_server[i],
        )
        for i in range(n_servers)
    )
    clients = tuple(
        Client(
            name=f"c{i + 1}",
            mac=_mac(0x0200 + i),
            port=f"c{i + 1}",
            ip4=_CLIENT_BASE4 + 1 + i,
            ip6=_CLIENT_BASE6 + 1 + i,
        )
        for i in range(n_clients)
    )
    if switch is None:
        switch = Switch(capacity=max(DEFAULT_CAPACITY, n_servers))
    return Topology(switch, servers, clients)


def make_plan(rack: str, topology: Topology, n_racks: int = 1) -> Plan:
    """Lay a topology out over namespaces; node k of the file is s<k> (or has its name).

    With two racks, clients and the first half of the servers are behind `sw`, the rest behind
    `sw2`; `trunk` joins them.
    """
    check_rack_name(rack)
    if not 1 <= n_racks <= MAX_RACKS:
        raise UserError(
            f"the software rack cannot be {n_racks} racks", hint=f"give --racks 1 to {MAX_RACKS}"
        )
    if not topology.clients:
        raise UserError(
            "the topology has no client", hint="add a [[client]] table with name, ip4, mac, port"
        )
    nodes = _nodes(rack, topology, n_racks)
    _check_names(nodes)
    switches = tuple(
        SwitchNode(
            name=_switch_name(k),
            netns=f"{rack}-{_switch_name(k)}",
            mac=_mac(0xFF00 + k),
            topology=_seen_from(topology, nodes, k, n_racks),
        )
        for k in range(n_racks)
    )
    every4 = [node.ip4 for node in nodes if node.ip4 is not None]
    every6 = [node.ip6 for node in nodes if node.ip6 is not None]
    return Plan(
        rack,
        topology,
        nodes,
        switches,
        prefix4=_common_prefix(every4, 24),
        prefix6=_common_prefix(every6, 64),
    )


def _switch_name(index: int) -> str:
    return "sw" if index == 0 else f"sw{index + 1}"


def _port_name(port: str | int) -> str:
    return port if isinstance(port, str) else f"port{port}"


def _mac(suffix: int) -> str:
    return f"02:00:00:00:{suffix >> 8:02x}:{suffix & 0xFF:02x}"


def _nodes(rack: str, topology: Topology, n_racks: int) -> tuple[Node, ...]:
    nodes = [
        Node(
            name=client.name,
            netns=f"{rack}-{client.name}",
            role=Role.CLIENT,
            switch=_switch_name(0),
            port=_port_name(client.port),
            mac=client.mac,
            ip4=client.ip4,
            ip6=client.ip6,
        )
        for client in topology.clients
    ]
    n_servers = len(topology.servers)
    for k, server in enumerate(topology.servers):
        nodes.append(
            Node(
                name=f"s{k + 1}",
                netns=f"{rack}-s{k + 1}",
                role=Role.SERVER,
                switch=_switch_name(k * n_racks // n_servers),
                port=_port_name(server.port),
                mac=server.mac,
                ip4=server.ip4,
                ip6=server.ip6,
                server_id=server.id,
                workers=server.workers,
            )
        )
    return tuple(nodes)


def _check_names(nodes: tuple[Node, ...]) -> None:
    names: set[str] = {_switch_name(k) for k in range(MAX_RACKS)}
    ports: set[tuple[str, str]] = set()
    for node in nodes:
        if node.name in names:
            raise UserError(
                f"the name {node.name} is used twice in the rack",
                hint="servers are s1, s2, .. and switches sw, sw2; name clients otherwise",
            )
        names.add(node.name)
        if (node.switch, node.port) in ports or node.port in _RESERVED_PORTS:
            raise UserError(
                f"switch port {node.port} of {node.name} is taken",
                hint="in the software rack every host has a switch port of its own, and "
                f"{', '.join(_RESERVED_PORTS)} are the switch's",
            )
        ports.add((node.switch, node.port))


def _seen_from(topology: Topology, nodes: tuple[Node, ...], index: int, n_racks: int) -> Topology:
    """The topology with ports as links of one switch: what is elsewhere is behind the trunk."""
    here = {
        (node.role, node.mac): node.port if node.switch == _switch_name(index) else TRUNK
        for node in nodes
    }
    switch = topology.switch
    if n_racks > 1:
        switch = replace(switch, id=(switch.id or 1) + index)
    return Topology(
        switch,
        tuple(replace(s, port=here[Role.SERVER, s.mac]) for s in topology.servers),
        tuple(replace(c, port=here[Role.CLIENT, c.mac]) for c in topology.clients),
    )


def _common_prefix(addresses: list[IPv4Address] | list[IPv6Address], longest: int) -> int:
    """Length of the one subnet that holds all addresses, none of them its first or last."""
    if not addresses:
        return longest
    for length in range(longest, 7, -1):
        network = ip_network(f"{addresses[0]}/{length}", strict=False)
        ends = (network.network_address, network.broadcast_address)
        if all(address in network and address not in ends for address in addresses):
            return length
    raise UserError(
        "the hosts' addresses are not in one subnet",
        hint="a rack is one subnet, such as 10.0.1.0/24 and one IPv6 /64",
    )
