# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Topology -> desired tables, as plain data: no kernel, no switch, only what they are to hold.

Ports stay names here; `control.xdp` turns them into interface indices.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from netclone_host.attach import tables
from netclone_host.topology import PortName, Topology

FDB_SLOTS = 1 << tables.FDB_SLOTS_LOG2
MAX_LEARNED_PORT = 0xFFFF
# Slices that may be alive at once: one of the ring is always being emptied.
_LIVE_SLICES = tables.INFLIGHT_SLICES - 1


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
    capacity: int
    groups: dict[int, tuple[int, int]]
    """GRP -> ids of the first and the second candidate (GrpT)."""
    servers: dict[int, ServerEntry]

    @property
    def n_groups(self) -> int:
        return len(self.groups)

    def clone_ports(self) -> dict[int, tuple[PortName, PortName]]:
        """GRP -> ports that the original and the copy leave by."""
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
        capacity=switch.capacity,
        groups=topology.groups(),
        servers={
            server.id: ServerEntry(mac_bytes(server.mac), server.ip4, server.ip6, server.port)
            for server in topology.servers
        },
    )


@dataclass(frozen=True)
class ServerSettings:
    """What a server's programs are told."""

    sid: int
    workers: int
    state: tables.StateSource
    ports: tuple[int, ...]
    filter_tables: int
    request_timeout_ns: int
    reserve: bool = False


@dataclass(frozen=True)
class ClientSettings:
    """What a client's programs are told. `n_servers` gives the range of GRP."""

    n_servers: int
    ports: tuple[int, ...]
    filter_tables: int
    duplicate_window_ns: int

    @property
    def n_groups(self) -> int:
        return self.n_servers * (self.n_servers - 1)


def mac_bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def fdb_slot(mac: bytes) -> int:
    """Slot of a MAC address in the forwarding cache (docs/data-plane.md)."""
    number = int.from_bytes(mac, "big")
    return (number ^ (number >> 12) ^ (number >> 24)) % FDB_SLOTS


def fdb_entry(mac: bytes, ifindex: int) -> int:
    return int.from_bytes(mac, "big") << 16 | ifindex


def timeout_slices(timeout_ns: int) -> tuple[int, int]:
    """(shift, slices): a request is forgotten when it is `slices` slices of 2^shift ns old.

    A request that comes at the end of its slice loses almost a whole one, so there is one
    more than the timeout needs: none is forgotten before its timeout is over.
    """
    shift = 0
    while -(-timeout_ns >> shift) + 1 > _LIVE_SLICES:
        shift += 1
    return shift, -(-timeout_ns >> shift) + 1
