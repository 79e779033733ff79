# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Undo an attach, whole or half, from its journal alone.

Every action tolerates that its work is done already, so a detach that died is simply repeated.
Nothing is removed but what the journal names or, without a journal, what the pins prove to be
ours (`recovery.remains`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netclone_host import crash_points
from netclone_host.attach import journal, pins, recovery, vlan_tags
from netclone_host.attach.journal import Attachment, Port
from netclone_host.errors import UserError
from netclone_host.kernel import interfaces, netns, objects, privilege, tc, xdp
from netclone_host.kernel.interfaces import Interface
from netclone_host.kernel.objects import LinkType
from netclone_host.signals import signals_wait


@dataclass(frozen=True)
class Detached:
    """What was taken off, or cleared."""

    role: str
    """Empty if it is unknown."""
    ifnames: list[str]
    netns_inode: int
    had_journal: bool


def detach(ifname: str) -> Detached:
    """Take NetClone off the interface; a switch leaves all of its ports, because it cannot filter
    responses with one of them missing. Returns what was there, under present names.

    UserError if NetClone is not attached to it.
    """
    _require()
    with journal.locked():
        namespace = netns.current()
        attachment, had_journal = _of_interface(ifname, namespace)
        if attachment is None:
            raise recovery.not_attached(ifname)
        _refuse_hidden_pins(attachment, namespace)
        names = recovery.names_now(attachment, namespace)
        with signals_wait():
            undo(attachment, namespace)
    return Detached(attachment.role, names, attachment.netns_inode, had_journal)


def detach_gone() -> list[Detached]:
    """Remove pins and journals of attachments whose interfaces are gone, in all namespaces: a
    deleted namespace cannot be entered to detach there. Returns what was cleared."""
    _require()
    with journal.locked():
        known = [(entry, True) for entry in journal.attachments()]
        known += [(left.attachment, False) for left in recovery.remains()]
        gone = [(entry, whole) for entry, whole in known if recovery.is_gone(entry)]
        with signals_wait():
            for entry, _ in gone:
                forget(entry)
        return [
            Detached(entry.role, entry.ifnames, entry.netns_inode, whole) for entry, whole in gone
        ]


def clear_interfaces(ports: Sequence[Interface], namespace: netns.NetnsId) -> list[str]:
    """Remove what is ours from these interfaces: remains of a crash, or what --force replaces.
    Returns a warning for each that was on other interfaces, too. Call with the journal locked."""
    names = {port.name for port in ports}
    warnings = []
    for entry in journal.attachments(namespace.inode):
        now = recovery.names_now(entry, namespace)
        if not names & set(now):
            continue
        others = [name for name in now if name not in names]
        if others and not recovery.is_stale(entry, namespace):
            warnings.append(f"the {entry.role} that was here is off {', '.join(others)} too")
        undo(entry, namespace)
    for left in recovery.remains(namespace.inode):
        if left.is_on(ports):
            undo(left.attachment, namespace)
    return warnings


def undo(attachment: Attachment, namespace: netns.NetnsId) -> None:
    """Remove what the attachment made, including filters if it was made in this namespace; call
    with the journal locked.

    A namespace that is gone has left nothing but pins and the journal, even if its inode and
    interfaces of the same names exist again.
    """
    _release_links(attachment)
    if attachment.is_of(namespace):
        present = set(interfaces.indices().values())
        for port in attachment.ports:
            if port.ifindex in present:
                _undo_tc(port)
                _put_back_offloads(port)
    _forget_pins(attachment)


def forget(attachment: Attachment) -> None:
    """Remove pins and journal of an attachment whose interfaces are gone, or about to go with
    their namespace, taking the filters along; call with the journal locked."""
    _release_links(attachment)
    _forget_pins(attachment)


def release(link_pin: Path, kind: LinkType, program_id: int) -> None:
    """Take a program's pinned link, if there is one, off its interface and remove the pin. If the
    link holds another program, which is not ours, only the pin goes.

    Removing the pin would be enough, but the kernel would detach in the background: the program
    would still be there when this returns, and block its successor. The pin goes last, because
    somebody else may hold the link, and without the pin nobody would find it again.
    """
    try:
        with objects.opened_link(link_pin, kind) as (link, info):
            if info.program_id == program_id:
                objects.detach_link(link)
                crash_points.reached(f"off-{link_pin.name}")
            link_pin.unlink(missing_ok=True)
    except FileNotFoundError:
        return


def _require() -> None:
    privilege.require()
    # With the pins out of sight, the program would stay and its journal go.
    pins.require_mounted()


def _of_interface(ifname: str, namespace: netns.NetnsId) -> tuple[Attachment | None, bool]:
    """Found by its journal, or by its pins, or as brought along from another namespace; and whether
    it has a journal."""
    if (known := recovery.attachment_of(ifname, namespace)) is not None:
        return known, True
    if (left := recovery.remains_of(ifname, namespace)) is not None:
        return left.attachment, False
    return recovery.brought_along(ifname), True


def _refuse_hidden_pins(attachment: Attachment, namespace: netns.NetnsId) -> None:
    """UserError if the mounted BPF file system is not the one with the pins (each mount may be a
    separate one): the program would stay, and its journal go."""
    if not attachment.is_of(namespace):
        return
    present = set(interfaces.indices().values())
    for port in attachment.ports:
        if port.ifindex not in present or recovery.own_link(attachment, port) is not None:
            continue
        if port.xdp_program in xdp.query(port.ifindex).ids():
            raise UserError(
                f"program {port.xdp_program} is on {port.name}, and its pin is not in the BPF "
                f"file system that is mounted at {pins.bpffs()}",
                hint="run detach where attach ran: in the same mount namespace",
            )


def _release_links(attachment: Attachment) -> None:
    """The last port attached goes first: clients' before servers'."""
    for port in reversed(attachment.ports):
        release(attachment.link_pin(port), LinkType.XDP, port.xdp_program)
        crash_points.reached(f"detach-link-{port.name}")
        if port.tcx:
            release(attachment.egress_link_pin(port), LinkType.TCX, port.tc_program)
            crash_points.reached(f"detach-egress-{port.name}")


def _undo_tc(port: Port) -> None:
    if port.tc_priority:
        tc.remove_filter(port.ifindex, port.tc_priority, port.tc_program)
        crash_points.reached("detach-filter")
    if port.made_clsact:
        tc.remove_clsact_if_unused(port.ifindex)
        crash_points.reached("detach-clsact")


def _put_back_offloads(port: Port) -> None:
    if port.tag_offloads:
        vlan_tags.put_back(port)
        crash_points.reached(f"detach-offloads-{port.name}")


def _forget_pins(attachment: Attachment) -> None:
    pins.remove(Path(attachment.pin_dir))
    crash_points.reached("detach-pins")
    attachment.forget()
