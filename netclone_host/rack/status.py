# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The racks of this machine and what they consist of, read from their journals."""

from __future__ import annotations

from typing import Any

from netclone_host import topology as topology_file
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.rack import programs
from netclone_host.rack.journal import Journal, Step, rack_names
from netclone_host.rack.plan import Plan, make_plan


def plan_of(rack: str) -> Plan:
    """The plan of a rack that is up; `UserError` if it is not."""
    journal = Journal(rack)
    if not journal.exists:
        others = ", ".join(rack_names())
        raise UserError(
            f"the rack '{rack}' is not up",
            hint=f"'netclone-host rack up --name {rack}' builds it"
            + (f"; racks that are up: {others}" if others else ""),
        )
    if not journal.complete:
        raise UserError(
            f"the rack '{rack}' was left half built by a crash",
            hint=f"'netclone-host rack down --name {rack}' removes it",
        )
    topology = topology_file.load(journal.topology_path)
    racks = [record["count"] for record in journal.records() if record["step"] == Step.RACKS]
    return make_plan(rack, topology, racks[0] if racks else 1)


def require_namespace(plan: Plan, node: str) -> None:
    """`UserError` if somebody removed the namespace of a node."""
    if not netns.is_namespace(plan.namespace(node)):
        raise UserError(
            f"the namespace of {node} is gone",
            hint=f"'netclone-host rack down --name {plan.name}' removes the rest",
        )


def all_racks() -> list[dict[str, Any]]:
    """Name, state ("up" or "half built") and number of namespaces of each rack."""
    racks = []
    for name in rack_names():
        journal = Journal(name)
        namespaces = {r["name"] for r in journal.records() if r["step"] == Step.NETNS}
        racks.append(
            {
                "name": name,
                "state": "up" if journal.complete else "half built",
                "namespaces": sum(netns.is_namespace(namespace) for namespace in namespaces),
            }
        )
    return racks


def describe(rack: str) -> dict[str, Any]:
    """Everything that `rack status` shows of a rack that is up."""
    plan = plan_of(rack)
    nodes: list[dict[str, Any]] = [
        {
            "name": node.name,
            "role": node.role.value,
            "netns": node.netns,
            "switch": node.switch,
            "port": node.port,
            "mac": node.mac,
            "ip4": str(node.ip4) if node.ip4 else None,
            "ip6": str(node.ip6) if node.ip6 else None,
            "server_id": node.server_id if node.workers else None,
            "workers": node.workers or None,
        }
        for node in plan.nodes
    ]
    nodes += [
        {
            "name": switch.name,
            "role": "switch",
            "netns": switch.netns,
            "ports": switch.ports(plan),
            "mac": switch.mac,
            "ip4": None,
            "ip6": None,
        }
        for switch in plan.switches
    ]
    for entry in nodes:
        namespace = entry["netns"]
        attachment = programs.attachment_of(namespace)
        entry["attached"] = attachment is not None
        entry["mode"] = attachment.mode if attachment else None
        entry["processes"] = netns.processes_inside(namespace)
    return {"name": rack, "state": "up", "nodes": nodes}
