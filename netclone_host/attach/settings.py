# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The settings of each role's programs, as plain data: no kernel, no maps.

A switch gets them from the topology. Ports are names here; whoever writes the maps knows the
interfaces' indices.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from netclone_host.attach.tables import StateSource
from netclone_host.topology import PortName, Topology


@dataclass(frozen=True)
class ServerEntry:
    """A row of the address table (AddrT), and the port the server sits behind."""

    mac: bytes
    ip4: IPv4Address | None
    ip6: IPv6Address | None
    port: PortName


@dataclass(frozen=True)
class SwitchTables:
    """Everything that the control plane writes into a switch; registers start empty."""

    switch_id: int
    ports: tuple[int, ...]
    """NetClone's UDP ports."""
    filter_tables: int
    filter_slots: int
    """Slots of each filter table, a power of two."""
    racksched: bool
    cloning: bool
    reserve: bool
    server_timeout_ns: int
    state_timeout_ns: int
    """A state that has not changed for so long is forgotten; 0: never."""
    clone_share: int
    """Of the requests, in 1/65536, may be cloned; 0: any."""
    capacity: int
    groups: dict[int, tuple[int, int]]
    """GRP -> ids of the first and the second candidate (GrpT)."""
    servers: dict[int, ServerEntry]
    clients: dict[bytes, PortName]
    """MAC address -> port, of the clients that the topology names."""

    @property
    def n_groups(self) -> int:
        return len(self.groups)

    def clone_ports(self) -> dict[int, tuple[PortName, PortName]]:
        """GRP -> ports that the original and the clone leave by."""
        return {
            grp: (self.servers[first].port, self.servers[second].port)
            for grp, (first, second) in self.groups.items()
        }

    def forwarding(self) -> dict[bytes, PortName]:
        """MAC address -> port, of what is known before the first packet: the servers."""
        return {server.mac: server.port for server in self.servers.values()}


def switch_tables(topology: Topology) -> SwitchTables:
    switch = topology.switch
    return SwitchTables(
        switch_id=switch.id,
        ports=switch.ports,
        filter_tables=switch.filter_tables,
        filter_slots=switch.filter_slots,
        racksched=switch.racksched,
        cloning=switch.cloning,
        reserve=switch.reserve,
        server_timeout_ns=switch.server_timeout_ms * 1_000_000,
        state_timeout_ns=switch.state_timeout_ms * 1_000_000,
        clone_share=switch.clone_share_max * 65536 // 100,
        capacity=switch.capacity,
        groups=topology.groups(),
        servers={
            server.id: ServerEntry(mac_bytes(server.mac), server.ip4, server.ip6, server.port)
            for server in topology.servers
        },
        clients={mac_bytes(client.mac): client.port for client in topology.clients},
    )


@dataclass(frozen=True)
class HostAddresses:
    """What a host is called on its wire; a packet for another is not looked at."""

    mac: bytes = bytes(6)
    """All 0: not known."""
    addresses: tuple[IPv4Address | IPv6Address, ...] = ()


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server's programs."""

    sid: int
    workers: int
    state: StateSource
    ports: tuple[int, ...]
    filter_tables: int
    request_timeout_ns: int
    reserve: bool = False


@dataclass(frozen=True)
class ClientSettings:
    """Settings of a client's programs. `n_servers` gives the range of GRP."""

    n_servers: int
    ports: tuple[int, ...]
    filter_tables: int
    duplicate_window_ns: int
    switch_id: int | None = None
    """Of the client's ToR, which claims its requests; None: not known."""

    @property
    def n_groups(self) -> int:
        return self.n_servers * (self.n_servers - 1)


def mac_bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
