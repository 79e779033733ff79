# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is attached, and what its tables say."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from netclone_host import counters
from netclone_host.attach import health, journal, pins, recovery
from netclone_host.attach.journal import Attachment
from netclone_host.attach.recovery import Health, Remains
from netclone_host.attach.roles import PROGRAMS, Role
from netclone_host.attach.table_access import pinned_config, pinned_map, pinned_table
from netclone_host.attach.tables import MapName, Server, ServerConfig, ServerFlag, Slices
from netclone_host.counters import Hook
from netclone_host.kernel import netns
from netclone_host.kernel.maps import Map

_U64_BYTES = 8


def attachments(everywhere: bool = False) -> list[Attachment]:
    """The attachments of this namespace, or of all."""
    return journal.attachments(None if everywhere else netns.current().inode)


def remains(everywhere: bool = False) -> list[Remains]:
    """Attachments whose journal is damaged or lost, here or everywhere."""
    return recovery.remains(None if everywhere else netns.current().inode)


def attached_to(ifname: str) -> Attachment:
    """The attachment that an interface of this namespace belongs to. UserError if none."""
    namespace = netns.current()
    attachment = recovery.attachment_of(ifname, namespace)
    if attachment is None:
        if (left := recovery.remains_of(ifname, namespace)) is not None:
            raise left.error()
        raise recovery.not_attached(ifname)
    pins.require_mounted()
    return attachment


def _hooks(role: Role) -> tuple[Hook, ...]:
    """Where a role counts packets."""
    programs = PROGRAMS[role]
    return (
        Hook.INGRESS,
        *((Hook.EGRESS,) if programs.tc else ()),
        *((Hook.CLONE,) if programs.devmap else ()),
    )


def read_counters(attachment: Attachment) -> dict[Hook, dict[str, int]]:
    """For each hook, packets by reason, summed over CPUs."""
    with pinned_map(attachment, MapName.COUNTERS) as table:
        return {hook: _sum_cpus(table, hook) for hook in _hooks(Role(attachment.role))}


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


def describe(attachment: Attachment, cause: Health | None = None) -> dict[str, Any]:
    """One attachment, for `status --json`; `cause` of one whose journal is not to be had."""
    found = cause or health.health(attachment)
    return {
        "interfaces": recovery.names_now(attachment, netns.current()),
        "role": attachment.role,
        "health": found,
        "mode": attachment.mode,
        "reason": attachment.reason,
        "loader": attachment.loader,
        "settings": dict(attachment.settings),
        "programs": _program_ids(attachment),
        "pins": attachment.pin_dir,
        "netns": attachment.netns_inode,
        "attached_at": attachment.attached_at,
        "notes": health.who_precedes(attachment) if found is Health.PRECEDED else [],
    }


def _program_ids(attachment: Attachment) -> dict[str, dict[str, int]]:
    """Interface -> ids of its XDP and tc programs."""
    ids: dict[str, dict[str, int]] = {}
    for port in attachment.ports:
        found = {}
        with suppress(OSError):
            if (link := recovery.own_link(attachment, port)) is not None:
                found["xdp"] = link.program_id
        if port.tc_program:
            found["tc"] = port.tc_program
        ids[port.name] = found
    return ids
