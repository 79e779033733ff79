# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Undo an attach, whole or half, from its journal alone.

Each action is one that may find its work done already, so that a detach that died is
simply done again. Nothing is removed that the journal does not name, or where there is none
what the pins prove to be ours (`salvage`).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from netclone_host import crash_points
from netclone_host.attach import find, journal, pins, recovery
from netclone_host.attach.journal import Attachment, Port
from netclone_host.errors import UserError
from netclone_host.kernel import interfaces, netns, objects, privilege, tc, xdp
from netclone_host.signals import signals_wait


def detach(ifname: str) -> Attachment:
    """Take NetClone off the interface; a switch is taken off all of its ports, because it
    cannot filter responses with one of them missing. Returns what was there, by present names.

    UserError if NetClone is not attached to it.
    """
    privilege.require()
    # Where the pins cannot be seen, the program would stay and its journal go.
    pins.require_mounted()
    with journal.locked():
        namespace = netns.current()
        attachment = _of_interface(ifname, namespace)
        if attachment is None:
            interfaces.find([ifname])  # one that there is not has an error of its own
            raise UserError(
                f"NetClone is not attached to {ifname}", hint="'netclone-host status' lists where"
            )
        _refuse_hidden_pins(attachment, namespace)
        names = find.names_now(attachment, namespace)
        with signals_wait():
            undo(attachment, namespace)
    for port, name in zip(attachment.ports, names, strict=True):
        port.name = name
    return attachment


def _refuse_hidden_pins(attachment: Attachment, namespace: netns.NetnsId) -> None:
    """UserError where another BPF file system is mounted than the one with the pins (each
    mount may be one of its own): the program would stay, and its journal go."""
    if not attachment.is_of(namespace):
        return
    present = set(interfaces.indices().values())
    for port in attachment.ports:
        if port.ifindex not in present or find.is_pinned(attachment, port):
            continue
        held = [program for _, program in xdp.query(port.ifindex).programs()]
        if port.xdp_program in held:
            raise UserError(
                f"program {port.xdp_program} is on {port.name}, and its pin is not in the BPF "
                f"file system that is mounted at {pins.bpffs()}",
                hint="run detach where attach ran: in the same mount namespace",
            )


def _of_interface(ifname: str, namespace: netns.NetnsId) -> Attachment | None:
    """By its journal; without one, by its pins; or by what it brought from another namespace."""
    known = find.find(ifname, namespace)
    if known is not None:
        return known
    left = recovery.of_interface(ifname, namespace)
    return left.attachment if left else find.find_moved(ifname)


def undo(attachment: Attachment, namespace: netns.NetnsId) -> None:
    """Remove what the attachment made; call with the journal locked.

    What a namespace that is gone left behind is pins and the journal only, even if its
    inode, and interfaces of the same names, are there again.
    """
    live = attachment.is_of(namespace)
    # The last port attached goes first: clients' before servers'.
    for port in reversed(attachment.ports):
        release(attachment.link_pin(port), port.xdp_program)
        crash_points.reached(f"detach-link-{port.name}")
    if live:
        present = set(interfaces.indices().values())
        for port in attachment.ports:
            if port.ifindex in present:
                _undo_tc(port)
    pins.remove(Path(attachment.pin_dir))
    crash_points.reached("detach-pins")
    attachment.forget()


def release(link_pin: Path, program_id: int) -> None:
    """Take the pinned link of a program off its interface, if there is one, and remove its pin.
    Of a link with another program, which is not ours, only the pin goes.

    The pin's removal alone would do it too, but in the background: the program would still be
    there when this returns, and in the way of the next. It comes last, because somebody else may
    hold the link too, and without its pin nobody finds it again.
    """
    try:
        with objects.opened_link(link_pin) as (link, info):
            if info.program_id == program_id:
                objects.detach_link(link)
                crash_points.reached(f"off-{link_pin.name}")
            link_pin.unlink(missing_ok=True)
    except FileNotFoundError:
        return


def _undo_tc(port: Port) -> None:
    if port.tc_program:
        tc.remove_filter(port.ifindex, port.tc_priority, port.tc_program)
        crash_points.reached("detach-filter")
    if port.made_clsact:
        tc.remove_clsact_if_unused(port.ifindex)
        crash_points.reached("detach-clsact")


def _forget(attachment: Attachment) -> None:
    for port in attachment.ports:
        release(attachment.link_pin(port), port.xdp_program)
    pins.remove(Path(attachment.pin_dir))
    attachment.forget()


def detach_gone() -> list[Attachment]:
    """Remove the pins and journals of attachments, in all namespaces, whose interfaces are gone;
    a namespace that was deleted cannot be entered to detach there. Returns what they were."""
    privilege.require()
    pins.require_mounted()
    with journal.locked():
        known = [*journal.attachments(), *(entry.attachment for entry in recovery.remains())]
        gone = [attachment for attachment in known if _is_gone(attachment)]
        with signals_wait():
            for attachment in gone:
                _forget(attachment)
        return gone


def _is_gone(attachment: Attachment) -> bool:
    """By the links' own word: one whose interface was deleted has no index any more. An attach
    that died before its first link is gone with its namespace."""
    links = []
    for port in attachment.ports:
        with contextlib.suppress(FileNotFoundError):
            links.append(objects.pinned_link(attachment.link_pin(port)))
    if links:
        return all(link.ifindex == 0 for link in links)
    return not netns.exists(attachment.netns_inode)
