# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UDP addresses of a rack's nodes, each in its namespace."""

from __future__ import annotations

from loadgen.traffic.endpoints import Endpoint
from netclone_host.kernel import netns
from netclone_host.rack.plan import Node, Plan
from netclone_host.topology import DEFAULT_PORT


def endpoint(node: Node, port: int) -> Endpoint:
    """The node's UDP address."""
    return Endpoint(str(node.ip4 or node.ip6), port, netns.path_of(node.netns))


def service_port(plan: Plan) -> int:
    """The first port that the switch takes for NetClone's."""
    ports = plan.topology.switch.ports
    return ports[0] if ports else DEFAULT_PORT


def client_endpoints(plan: Plan) -> list[Endpoint]:
    """Every client, at any port."""
    return [endpoint(node, 0) for node in plan.clients]


def server_endpoints(plan: Plan) -> list[Endpoint]:
    """Every server, by id."""
    return [endpoint(node, service_port(plan)) for node in plan.servers]
