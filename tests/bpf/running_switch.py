# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running switch of three servers: what its tables hold, and how to change them."""

from __future__ import annotations

import dataclasses

from netclone_host.attach import status, tables
from netclone_host.attach.table_access import pinned_config, pinned_map, pinned_table
from netclone_host.attach.tables import MapName
from netclone_host.control.backend import apply
from netclone_host.control.targets import TargetName, connect, plan_for
from netclone_host.topology import Topology

PORTS = ("p0", "p1", "p2", "p3")
THIRD = """
[[server]]
id = 2
ip4 = "10.0.1.103"
mac = "02:00:00:00:01:67"
port = "p2"
"""


def bring(topology: Topology) -> int:
    """Apply a topology; how many changes that took."""
    return len(apply(connect(TargetName.XDP, None), plan_for(TargetName.XDP, topology)))


def config() -> tables.SwitchConfig:
    return pinned_config(status.attached_to("p0"), tables.SwitchConfig)


def remember(sid: int, queue: int, owed: int) -> None:
    """As if the server had said so, and owed answers ever since the machine started."""
    attachment = status.attached_to("p0")
    with pinned_map(attachment, MapName.STATE) as table:
        table.update(sid, queue)
    with pinned_table(attachment, tables.Health) as health:
        health[sid] = tables.Health(owing_since_ns=1, owed=owed)


def known_of(sid: int) -> tuple[int, int]:
    """State of a server, and how many answers it owes."""
    attachment = status.attached_to("p0")
    with pinned_map(attachment, MapName.STATE) as table:
        queue = table.number(sid)
    with pinned_table(attachment, tables.Health) as health:
        return queue, health[sid].owed


def timed(rack: Topology, timeout_ms: int) -> Topology:
    switch = dataclasses.replace(rack.switch, server_timeout_ms=timeout_ms)
    return dataclasses.replace(rack, switch=switch)
