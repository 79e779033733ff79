# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What stands in the way of an attach, looked at before anything is loaded."""

from __future__ import annotations

from netclone_host.attach import journal, recovery
from netclone_host.attach.detach import undo
from netclone_host.attach.find import find_moved, is_pinned, is_stale, names_now
from netclone_host.attach.journal import Attachment
from netclone_host.attach.request import Job, Mode
from netclone_host.attach.roles import Role
from netclone_host.attach.settings import ServerSettings
from netclone_host.errors import ForeignProgramError, UserError
from netclone_host.kernel import interfaces, netns, objects, tc, xdp
from netclone_host.kernel.interfaces import Interface


def check(job: Job, ports: list[Interface], namespace: netns.NetnsId) -> list[str]:
    """Refuse what cannot work; returns warnings. Call with the journal locked."""
    names = {port.name for port in ports}
    current = journal.attachments(namespace.inode)
    live = [entry for entry in current if not is_stale(entry, namespace)]
    in_the_way = [entry for entry in live if names & set(names_now(entry, namespace))]
    lost = recovery.remains(namespace.inode)
    for left in lost:
        if not job.request.force and _is_on(left.attachment, ports):
            raise left.error()
    if in_the_way and not job.request.force:
        taken = ", ".join(sorted(names & set(names_now(in_the_way[0], namespace))))
        raise UserError(
            f"NetClone is attached to {taken} already, as a {in_the_way[0].role}",
            hint=f"'netclone-host detach {taken.split(',')[0]}' first, or --force to replace it",
        )
    others = [entry for entry in live if entry not in in_the_way]
    _check_former_names(names, current, namespace)
    others += [left.attachment for left in lost if not _is_on(left.attachment, ports)]
    _check_server_id(job, others)
    if not job.request.force:
        for port in ports:
            _check_foreign(port)
    if job.request.role is not Role.SWITCH:
        for port in ports:
            tc.has_clsact(port.ifindex)  # refuses where clsact has no room
        return []
    if job.request.mode is not Mode.GENERIC and job.request.check_peers:
        return [warning for port in ports for warning in _check_peer(port)]
    return []


def _check_former_names(
    names: set[str], others: list[Attachment], namespace: netns.NetnsId
) -> None:
    """A journal and its pins are called what the first port was called then."""
    for other in others:
        taken, now = other.ports[0].name, names_now(other, namespace)[0]
        if taken in names and now != taken:
            raise UserError(
                f"NetClone is attached to {now} as a {other.role}, and {now} was called {taken} "
                "when that was done",
                hint=f"'netclone-host detach {now}' first, and attach it under its new name",
            )


def _is_on(attachment: Attachment, ports: list[Interface]) -> bool:
    names, indices = {port.name for port in ports}, {port.ifindex for port in ports}
    return any(port.name in names or port.ifindex in indices for port in attachment.ports)


def _check_server_id(job: Job, others: list[Attachment]) -> None:
    if not isinstance(job.settings, ServerSettings):
        return
    for other in others:
        if other.role == Role.SERVER and other.settings.get("server_id") == job.settings.sid:
            where = names_now(other, netns.current())[0]
            raise UserError(
                f"server id {job.settings.sid} is used already, on {where}",
                hint="each server needs an id of its own",
            )


def _check_foreign(port: Interface) -> None:
    ours = _own_program(port)
    for mode, program_id in xdp.query(port.ifindex).programs():
        if program_id == ours:
            continue
        program = objects.program_by_id(program_id)
        name = f' "{program.name}"' if program and program.name else ""
        raise ForeignProgramError(
            f"{port.name} has an XDP program already: id {program_id}{name}, {mode} mode",
            hint=_hint(port),
        )


def _hint(port: Interface) -> str:
    if find_moved(port.name) is None:
        return "--force replaces it"
    return (
        f"it came from another network namespace: 'netclone-host detach {port.name}' takes it "
        "off, --force replaces it"
    )


def _own_program(port: Interface) -> int:
    """Program of a half attach that died after its link was pinned, which is ours and is
    cleared away before the new one comes."""
    for entry in journal.attachments(netns.current().inode):
        for known in entry.ports:
            if known.ifindex == port.ifindex and is_pinned(entry, known):
                return known.xdp_program
    return 0


def _check_peer(port: Interface) -> list[str]:
    """A veth hands a redirected frame only to an end whose own side runs NAPI."""
    if port.kind != "veth" or interfaces.peer_has_xdp(port):
        return []
    gro = interfaces.peer_has_gro(port)
    if gro:
        return []
    if gro is None:
        return [f"the other end of {port.name} cannot be looked at: does it run NAPI?"]
    peer = interfaces.peer(port)
    name = peer.name if peer else "PEER"
    raise UserError(
        f"{name}, the other end of {port.name}, cannot receive redirected frames: it runs "
        "neither an XDP program nor GRO",
        hint=f"ethtool -K {name} gro on (in its namespace), or --mode generic",
    )


def clear_own(ports: list[Interface], namespace: netns.NetnsId) -> list[str]:
    """Take away what is ours on these interfaces: remains of a crash, or what --force is
    to replace. Returns a warning for each that was on other interfaces too."""
    names = {port.name for port in ports}
    warnings = []
    for entry in journal.attachments(namespace.inode):
        now = names_now(entry, namespace)
        if not names & set(now):
            continue
        others = [name for name in now if name not in names]
        if others and not is_stale(entry, namespace):
            warnings.append(f"the {entry.role} that was here is off {', '.join(others)} too")
        undo(entry, namespace)
    for left in recovery.remains(namespace.inode):
        if _is_on(left.attachment, ports):
            undo(left.attachment, namespace)
    return warnings
