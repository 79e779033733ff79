# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Undo an attach, whole or half, from its journal alone.

Each action is one that may find its work done already, so that a detach that died is
simply done again. Nothing is removed that the journal does not name, or where there is none
what the pins prove to be ours (`recovery.remains`).
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
    """What was taken off, or what was cleared."""

    role: str
    """Empty where that is not known any more."""
    ifnames: list[str]
    netns_inode: int
    had_journal: bool


def detach(ifname: str) -> Detached:
    """Take NetClone off the interface; a switch is taken off all of its ports, because it
    cannot filter responses with one of them missing. Returns what was there, by present names.

    UserError if NetClone is not attached to it.
    """
    _require()
    with journal.locked():
        namespace = netns.current()
        attachment, had_journal = _of_interface(ifname, namespace)
        if attachment is None:
            interfaces.find([ifname])  # one that there is not has an error of its own
            raise UserError(
                f"NetClone is not attached to {ifname}", hint="'netclone-host status' lists where"
            )
        _refuse_hidden_pins(attachment, namespace)
        names = recovery.names_now(attachment, namespace)
        with signals_wait():
            undo(attachment, namespace)
    return Detached(attachment.role, names, attachment.netns_inode, had_journal)


def detach_gone() -> list[Detached]:
    """Remove the pins and journals of attachments, in all namespaces, whose interfaces are gone;
    a namespace that was deleted cannot be entered to detach there. Returns what they were."""
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
    """Take away what is ours on these interfaces: remains of a crash, or what --force is
    to replace. Returns a warning for each that was on other interfaces too. Call with the
    journal locked."""
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
    """Remove what the attachment made, its filters too if its namespace is this one; call with
    the journal locked.

    What a namespace that is gone left behind is pins and the journal only, even if its
    inode, and interfaces of the same names, are there again.
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
    """Remove the pins and the journal of an attachment whose interfaces are gone, or go with
    their namespace, and the filters with them; call with the journal locked."""
    _release_links(attachment)
    _forget_pins(attachment)


def release(link_pin: Path, kind: LinkType, program_id: int) -> None:
    """Take the pinned link of a program off its interface, if there is one, and remove its pin.
    Of a link with another program, which is not ours, only the pin goes.

    The pin's removal alone would do it too, but in the background: the program would still be
    there when this returns, and in the way of the next. It comes last, because somebody else may
    hold the link too, and without its pin nobody finds it again.
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
    # Where the pins cannot be seen, the program would stay and its journal go.
    pins.require_mounted()


def _of_interface(ifname: str, namespace: netns.NetnsId) -> tuple[Attachment | None, bool]:
    """By its journal; without one, by its pins; or by what it brought from another namespace.
    And whether it has a journal."""
    if (known := recovery.attachment_of(ifname, namespace)) is not None:
        return known, True
    if (left := recovery.remains_of(ifname, namespace)) is not None:
        return left.attachment, False
    return recovery.brought_along(ifname), True


def _refuse_hidden_pins(attachment: Attachment, namespace: netns.NetnsId) -> None:
    """UserError where another BPF file system is mounted than the one with the pins (each
    mount may be one of its own): the program would stay, and its journal go."""
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
