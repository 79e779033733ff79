# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which attachment an interface belongs to, and what its ports are called now.

Interfaces are renamed, swapped, moved and deleted while programs are attached. What tells them
apart is the index, and the link that holds the program; a name is only what they were called.
"""

from __future__ import annotations

import contextlib

from netclone_host.attach import journal
from netclone_host.attach.journal import Attachment, Port
from netclone_host.kernel import interfaces, netns, objects, xdp


def find(ifname: str, namespace: netns.NetnsId) -> Attachment | None:
    """The attachment of the interface of this name; where there is none of this name any more,
    that of the one that had it."""
    present = interfaces.indices()
    entries = journal.attachments(namespace.inode)
    index = present.get(ifname)
    for entry in entries:
        if entry.is_of(namespace) and any(_is_at(entry, p, ifname, index) for p in entry.ports):
            return entry
    for entry in entries:
        for port in entry.ports:
            elsewhere = entry.is_of(namespace) and port.ifindex in present.values()
            if port.name == ifname and (index is None or not elsewhere):
                return entry
    return None


def find_moved(ifname: str) -> Attachment | None:
    """The attachment that was made in another namespace before the interface came here: its
    link holds a program of this one."""
    index = interfaces.indices().get(ifname)
    if index is None:
        return None
    held = {program for _, program in xdp.query(index).programs()}
    for entry in journal.attachments() if held else []:
        for port in entry.ports:
            link = _link_of(entry, port) if port.xdp_program in held else None
            if link is not None and link.program_id == port.xdp_program:
                return entry
    return None


def is_stale(attachment: Attachment, namespace: netns.NetnsId) -> bool:
    """Left behind by an attach that died, a namespace that is gone, or interfaces that are."""
    if not attachment.complete or not attachment.is_of(namespace):
        return True
    return None in _present(attachment)


def names_now(attachment: Attachment, namespace: netns.NetnsId) -> list[str]:
    """What the ports are called; of one that is not here any more, what it was called."""
    if not attachment.is_of(namespace):
        return attachment.ifnames
    pairs = zip(_present(attachment), attachment.ports, strict=True)
    return [name or port.name for name, port in pairs]


def _present(attachment: Attachment) -> list[str | None]:
    """The name of each port in the namespace of the calling thread, None if it is not there."""
    names = {index: name for name, index in interfaces.indices().items()}
    return [
        name if name and _is_at(attachment, port, name, port.ifindex) else None
        for port, name in ((port, names.get(port.ifindex)) for port in attachment.ports)
    ]


def _is_at(attachment: Attachment, port: Port, name: str, index: int | None) -> bool:
    """An index may be used again; under another name only the link can tell."""
    if port.ifindex != index:
        return False
    if port.name == name:
        return True
    link = _link_of(attachment, port)
    return link is not None and link.ifindex == index


def is_pinned(attachment: Attachment, port: Port) -> bool:
    """Whether the link that holds the port's program is where it was pinned."""
    with contextlib.suppress(FileNotFoundError):
        return objects.pinned_link(attachment.link_pin(port)).program_id == port.xdp_program
    return False


def _link_of(attachment: Attachment, port: Port) -> objects.LinkInfo | None:
    """None where its pin is gone, or cannot be seen."""
    try:
        return objects.pinned_link(attachment.link_pin(port))
    except OSError:
        return None
