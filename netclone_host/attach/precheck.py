# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What stands in the way of an attach on this machine, checked before anything is loaded.

`request` has already refused requests that make no sense in themselves.
"""

from __future__ import annotations

from netclone_host.attach import journal, pins, recovery, vlan_tags
from netclone_host.attach.journal import Attachment
from netclone_host.attach.request import Job, Mode
from netclone_host.attach.roles import Role
from netclone_host.attach.settings import ServerSettings
from netclone_host.errors import ForeignProgramError, UserError
from netclone_host.kernel import interfaces, objects, privilege, tc, tcx, xdp, xdp_features
from netclone_host.kernel.interfaces import Interface
from netclone_host.kernel.netns import NetnsId
from netclone_host.kernel.xdp_features import XdpFeature


def check_machine(job: Job) -> list[Interface]:
    """The checks that need no lock: interfaces (which are returned), privilege, place of pins."""
    ports = interfaces.find(job.request.ifnames)
    privilege.require()
    pins.require_mounted()
    return ports


def check(job: Job, ports: list[Interface], namespace: NetnsId) -> list[str]:
    """Refuse what cannot work; returns warnings. Call with the journal locked."""
    names = {port.name for port in ports}
    current = journal.attachments(namespace.inode)
    live = [entry for entry in current if not recovery.is_stale(entry, namespace)]
    here = [entry for entry in live if names & set(recovery.names_now(entry, namespace))]
    lost = recovery.remains(namespace.inode)
    if not job.request.force:
        for left in lost:
            if left.is_on(ports):
                raise left.error()
        if here:
            raise _attached_already(names, here[0], namespace)
    _check_former_names(names, current, namespace)
    elsewhere = [entry for entry in live if entry not in here]
    elsewhere += [left.attachment for left in lost if not left.is_on(ports)]
    _check_server_id(job, elsewhere, namespace)
    if not job.request.force:
        for port in ports:
            _check_foreign(port, current)
    if job.request.role is not Role.SWITCH:
        for port in ports:
            if not tcx.is_available(port.ifindex):
                tc.has_clsact(port.ifindex)  # refuses an ingress qdisc
        return []
    if not job.request.check_peers:
        return []
    found = [warning for port in ports for warning in _check_up(port)]
    if job.request.mode is not Mode.GENERIC:
        found += [warning for port in ports for warning in _check_peer(port)]
        _check_transmit(ports)
        found += vlan_tags.warnings(ports)
    return found


def _attached_already(names: set[str], entry: Attachment, namespace: NetnsId) -> UserError:
    taken = sorted(names & set(recovery.names_now(entry, namespace)))
    return UserError(
        f"NetClone is attached to {', '.join(taken)} already, as a {entry.role}",
        hint=f"'netclone-host detach {taken[0]}' first, or --force to replace it",
    )


def _check_former_names(names: set[str], others: list[Attachment], namespace: NetnsId) -> None:
    """Journal and pins are named after the first port, by its name at that time."""
    for other in others:
        taken, now = other.ports[0].name, recovery.names_now(other, namespace)[0]
        if taken in names and now != taken:
            raise UserError(
                f"NetClone is attached to {now} as a {other.role}, and {now} was called {taken} "
                "when that was done",
                hint=f"'netclone-host detach {now}' first, and attach it under its new name",
            )


def _check_server_id(job: Job, others: list[Attachment], namespace: NetnsId) -> None:
    if not isinstance(job.settings, ServerSettings):
        return
    for other in others:
        if other.role == Role.SERVER and other.settings.get("server_id") == job.settings.sid:
            where = recovery.names_now(other, namespace)[0]
            raise UserError(
                f"server id {job.settings.sid} is used already, on {where}",
                hint="each server needs an id of its own",
            )


def _check_foreign(port: Interface, current: list[Attachment]) -> None:
    ours = _own_programs(port, current)
    for mode, program_id in xdp.query(port.ifindex).programs():
        if program_id in ours:
            continue
        program = objects.program_by_id(program_id)
        name = f' "{program.name}"' if program and program.name else ""
        raise ForeignProgramError(
            f"{port.name} has an XDP program already: id {program_id}{name}, {mode} mode",
            hint=_hint(port),
        )


def _own_programs(port: Interface, current: list[Attachment]) -> set[int]:
    """Programs of attaches that died after pinning their link: ours, and cleared away before the
    new one is attached."""
    return {
        known.xdp_program
        for entry in current
        for known in entry.ports
        if known.ifindex == port.ifindex and recovery.own_link(entry, known) is not None
    }


def _hint(port: Interface) -> str:
    if recovery.brought_along(port.name) is None:
        return "--force replaces it"
    return (
        f"it came from another network namespace: 'netclone-host detach {port.name}' takes it "
        "off, --force replaces it"
    )


def _check_up(port: Interface) -> list[str]:
    if not port.is_up:
        return [f"{port.name} is down, nothing leaves by it: ip link set {port.name} up"]
    if not port.has_carrier:
        return [f"{port.name} has no carrier: is the other end up?"]
    return []


def _check_transmit(ports: list[Interface]) -> None:
    """The kernel's broadcast passes over a port whose driver cannot transmit what is redirected to
    it, and only the other packet of a cloned request leaves. Where native mode is not to be had
    anyway, or the kernel cannot tell (before 6.3), attach goes on. `_check_peer` is for veths."""
    cards = [port for port in ports if port.kind != "veth"]
    features = {port.name: xdp_features.of(port.ifindex) for port in cards}
    if any(found is None or not found & XdpFeature.BASIC for found in features.values()):
        return
    for name, found in features.items():
        if found is not None and not found & XdpFeature.NDO_XMIT:
            raise UserError(
                f"the driver of {name} cannot transmit redirected frames as it is set up",
                hint="give it more transmit queues, if its driver asks for that, or --mode generic",
            )


def _check_peer(port: Interface) -> list[str]:
    """A veth delivers redirected frames only to an end that runs NAPI."""
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
