# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Topologies of any size, for the tests of the control plane."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Any

from netclone_host.topology import Client, Server, Switch, Topology


def server(server_id: int, ipv4: bool = True, ipv6: bool = True) -> Server:
    return Server(
        id=server_id,
        mac=f"02:00:00:00:01:{server_id:02x}",
        port=server_id + 1,
        ip4=IPv4Address(f"10.0.1.{server_id}") if ipv4 else None,
        ip6=IPv6Address(f"fd00:1::{server_id:x}") if ipv6 else None,
    )


def rack(n_servers: int, n_clients: int = 1, **switch: Any) -> Topology:
    """Servers 0 .. n-1 behind ports 1 .. n, clients behind the ports from 300 on."""
    clients = tuple(
        Client(
            name=f"c{number}",
            mac=f"02:00:00:01:{number >> 8:02x}:{number & 255:02x}",
            port=300 + number % 200,
            ip4=IPv4Address("10.1.0.0") + number,
        )
        for number in range(n_clients)
    )
    return Topology(
        Switch(capacity=max(32, n_servers), **switch),
        tuple(server(number) for number in range(n_servers)),
        clients,
    )
