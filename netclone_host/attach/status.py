# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is attached, and what its tables say."""

from __future__ import annotations

import time
from typing import Any

from netclone_host import counters
from netclone_host.attach import find, journal, pins, recovery
from netclone_host.attach.journal import Attachment
from netclone_host.attach.recovery import Cause, Remains
from netclone_host.attach.roles import PROGRAMS, Role
from netclone_host.attach.table_access import pinned_config, pinned_map, pinned_table
from netclone_host.attach.tables import MapName, Server, ServerConfig, ServerFlag, Slices
from netclone_host.counters import Hook
from netclone_host.errors import UserError
from netclone_host.kernel import netns, objects, tc
from netclone_host.kernel.maps import Map

_U64_BYTES = 8


def attachments(everywhere: bool = False) -> list[Attachment]:
    """Those of this namespace, or of all."""
    return journal.attachments(None if everywhere else netns.current().inode)


def remains(everywhere: bool = False) -> list[Remains]:
    """Those whose journal is damaged or lost."""
    return recovery.remains(None if everywhere else netns.current().inode)


def attached_to(ifname: str) -> Attachment:
    """The attachment that an interface of this namespace belongs to. UserError if none."""
    attachment = find.find(ifname, netns.current())
    if attachment is None:
        from netclone_host.kernel import interfaces

        if (left := recovery.of_interface(ifname, netns.current())) is not None:
            raise left.error()
        interfaces.find([ifname])
        raise UserError(
            f"NetClone is not attached to {ifname}", hint="'netclone-host status' lists where"
        )
    pins.require_mounted()
    return attachment


def read_counters(attachment: Attachment) -> dict[Hook, dict[str, int]]:
    """Packets by reason, of each hook, summed over the CPUs."""
    with pinned_map(attachment, MapName.COUNTERS) as table:
        return {hook: _sum_cpus(table, hook) for hook in PROGRAMS[Role(attachment.role)].hooks()}


def _sum_cpus(table: Map, hook: Hook) -> dict[str, int]:
    per_cpu = table.lookup_per_cpu(hook.value)
    sets = [
        [
            int.from_bytes(values[at : at + _U64_BYTES], "little")
            for at in range(0, len(values), _U64_BYTES)
        ]
        for values in per_cpu
    ]
    return counters.by_name([sum(column) for column in zip(*sets, strict=True)])


def read_states(attachment: Attachment) -> dict[str, int]:
    """A switch's state table: server id -> queue length of its last response."""
    with (
        pinned_table(attachment, Server) as servers,
        pinned_map(attachment, MapName.STATE) as states,
    ):
        return {
            str(sid): states.number(sid)
            for sid, row in enumerate(servers.rows())
            if row.flags & ServerFlag.VALID
        }


def read_in_flight(attachment: Attachment) -> int:
    """A server's requests in flight, as its program counts them now."""
    config = pinned_config(attachment, ServerConfig)
    counts = pinned_config(attachment, Slices)
    return counts.alive(config, time.clock_gettime_ns(time.CLOCK_MONOTONIC))


def health(attachment: Attachment) -> str:
    """`attached`, `incomplete` (attach died), `stale` (interface or namespace is gone),
    `detached` (somebody took a program off), `unknown` (the pins cannot be seen: no
    privilege, or /sys/fs/bpf is hidden)."""
    namespace = netns.current()
    if not attachment.complete:
        return "incomplete"
    if attachment.netns_inode != namespace.inode:
        return _health_from_afar(attachment)
    if find.is_stale(attachment, namespace):
        return "stale"
    found = _health_from_afar(attachment)
    return "detached" if found == "attached" and not _filters_stand(attachment) else found


def _filters_stand(attachment: Attachment) -> bool:
    """Whether the egress side is there too; only in its namespace can that be asked."""
    return all(
        tc.filter_program(port.ifindex, port.tc_priority) == port.tc_program
        for port in attachment.ports
        if port.tc_program
    )


def _health_from_afar(attachment: Attachment) -> str:
    if not pins.is_mounted():
        return "unknown"
    for port in attachment.ports:
        try:
            link = objects.pinned_link(attachment.link_pin(port))
        except PermissionError:
            return "unknown"
        except OSError:
            return "detached"
        if link.program_id != port.xdp_program:
            return "detached"
        if link.ifindex != port.ifindex:
            return "stale"
    return "attached"


def describe(attachment: Attachment, cause: Cause | None = None) -> dict[str, Any]:
    """One attachment, for `status --json`; `cause` of one whose journal is not to be had."""
    return {
        "interfaces": find.names_now(attachment, netns.current()),
        "role": attachment.role,
        "health": cause or health(attachment),
        "mode": attachment.mode,
        "reason": attachment.reason,
        "loader": attachment.loader,
        "settings": dict(attachment.settings),
        "programs": _program_ids(attachment),
        "pins": attachment.pin_dir,
        "netns": attachment.netns_inode,
        "attached_at": attachment.attached_at,
    }


def _program_ids(attachment: Attachment) -> dict[str, dict[str, int]]:
    """Interface -> ids of its XDP and tc programs."""
    ids: dict[str, dict[str, int]] = {}
    for port in attachment.ports:
        try:
            found = {"xdp": objects.pinned_link(attachment.link_pin(port)).program_id}
        except OSError:
            found = {}
        if port.tc_program:
            found["tc"] = port.tc_program
        ids[port.name] = found
    return ids
