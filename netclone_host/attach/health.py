# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How an attachment with a journal is doing."""

from __future__ import annotations

from netclone_host.attach import pins, recovery
from netclone_host.attach.journal import Attachment, Port
from netclone_host.attach.recovery import Health
from netclone_host.kernel import netns, objects, tc, tcx


def health(attachment: Attachment) -> Health:
    namespace = netns.current()
    if not attachment.complete:
        return Health.INCOMPLETE
    if attachment.netns_inode != namespace.inode:
        return _health_of_links(attachment)
    if recovery.is_stale(attachment, namespace):
        return Health.STALE
    found = _health_of_links(attachment)
    if found is not Health.ATTACHED:
        return found
    if not _filters_stand(attachment):
        return Health.DETACHED
    return Health.PRECEDED if who_precedes(attachment) else Health.ATTACHED


def who_precedes(attachment: Attachment) -> list[str]:
    """A sentence for each port on whose egress somebody comes before our program, which then sees
    only what they leave to it. To be asked in its namespace."""
    found = []
    for port in attachment.ports:
        if who := _before_ours(port):
            found.append(
                f"{' and '.join(who)} on egress of {port.name} run before NetClone's program, and "
                "may keep packets from it: detach and attach again to come first"
            )
    return found


def _before_ours(port: Port) -> list[str]:
    if not port.tc_program:
        return []
    in_row = tcx.programs(port.ifindex) if tcx.is_available(port.ifindex) else []
    if port.tcx:
        ours = port.tc_program in in_row
        return [_named(one) for one in in_row[: in_row.index(port.tc_program) if ours else 0]]
    filters = [f"the filter of priority {one}" for one in tc.before(port.ifindex, port.tc_priority)]
    return [_named(one) for one in in_row] + filters


def _named(program_id: int) -> str:
    program = objects.program_by_id(program_id)
    name = f' "{program.name}"' if program and program.name else ""
    return f"program {program_id}{name}"


def _health_of_links(attachment: Attachment) -> Health:
    """What can be told from another namespace as well."""
    if not pins.is_mounted():
        return Health.UNKNOWN
    try:
        links = recovery.own_links(attachment)
    except PermissionError:
        return Health.UNKNOWN
    except OSError:  # what stands there is no pin
        return Health.DETACHED
    for port, link in links:
        if link is None:
            return Health.DETACHED
        if link.ifindex != port.ifindex:
            return Health.STALE
    return Health.ATTACHED


def _filters_stand(attachment: Attachment) -> bool:
    """Whether the filters are there too; only in their namespace can that be asked."""
    return all(
        tc.filter_program(port.ifindex, port.tc_priority) == port.tc_program
        for port in attachment.ports
        if port.tc_priority
    )
