# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is attached where: for showing it, for refusing because of it and for undoing it.

Interfaces are renamed, swapped, moved and deleted while programs are attached. Only the index
and the pinned link that holds the program (`own_link`) tell them apart; a name is what an
interface was called once.

If the journal is damaged or lost, the pins say enough to undo the attachment (`remains`). Our
directory holds the maps, and the links, which know their interfaces; a filter is ours if its
program uses one of the maps. Whether clsact was there before is forgotten, so it stays.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from netclone_host.attach import journal, pins
from netclone_host.attach.journal import Attachment, Port
from netclone_host.attach.roles import PROGRAMS, Role
from netclone_host.attach.table_access import Table
from netclone_host.attach.tables import MapName, ServerConfig
from netclone_host.errors import UserError
from netclone_host.kernel import interfaces, maps, netns, objects, tc, xdp
from netclone_host.kernel.interfaces import Interface
from netclone_host.kernel.netns import NetnsId
from netclone_host.kernel.objects import LinkType

_CONFIGS: dict[str, Role] = {
    MapName.SERVER_CONFIG: Role.SERVER,
    MapName.CLIENT_CONFIG: Role.CLIENT,
    MapName.SWITCH_CONFIG: Role.SWITCH,
}
_XDP_NAMES = {programs.xdp for programs in PROGRAMS.values()}
_TC_NAMES = {programs.tc for programs in PROGRAMS.values() if programs.tc}


class Health(enum.StrEnum):
    """The health of an attachment, in the words of `status`."""

    ATTACHED = "attached"
    INCOMPLETE = "incomplete"
    """Its attach died."""
    STALE = "stale"
    """Its interface or namespace is gone."""
    DETACHED = "detached"
    """Somebody took a program off."""
    PRECEDED = "preceded"
    """Somebody's program or filter on egress runs before ours, and may keep packets from it."""
    UNKNOWN = "unknown"
    """Its pins cannot be seen: no privilege, or /sys/fs/bpf is hidden."""
    DAMAGED = "damaged"
    """Its journal cannot be read, or was written by another version."""
    ORPHANED = "orphaned"
    """It has no journal."""


# ---- attachments with a journal ----


def own_link(attachment: Attachment, port: Port) -> objects.LinkInfo | None:
    """The pinned link that holds the port's XDP program, wherever its interface is by now. None
    if the pin is gone or holds another program; PermissionError without the privilege to look."""
    return _link_of(attachment.link_pin(port), LinkType.XDP, port.xdp_program)


def own_egress_link(attachment: Attachment, port: Port) -> objects.LinkInfo | None:
    """The same for the program on egress, if tcx holds it."""
    return _link_of(attachment.egress_link_pin(port), LinkType.TCX, port.tc_program)


def _link_of(pin: Path, kind: LinkType, program: int) -> objects.LinkInfo | None:
    with suppress(FileNotFoundError, NotADirectoryError):
        link = objects.pinned_link(pin, kind)
        if link.program_id == program:
            return link
    return None


def own_links(attachment: Attachment) -> list[tuple[Port, objects.LinkInfo | None]]:
    """All links that there should be."""
    links = [(port, own_link(attachment, port)) for port in attachment.ports]
    held = [port for port in attachment.ports if port.tcx]
    return links + [(port, own_egress_link(attachment, port)) for port in held]


def attachment_of(ifname: str, namespace: NetnsId) -> Attachment | None:
    """The attachment of the interface of this name; if there is no such interface any more, that
    of the one that had the name."""
    present = interfaces.indices()
    entries = journal.attachments(namespace.inode)
    index = present.get(ifname)
    for entry in entries:
        on_it = [port for port in entry.ports if port.ifindex == index]
        if entry.is_of(namespace) and any(_has_index(entry, port, ifname) for port in on_it):
            return entry
    for entry in entries:
        for port in entry.ports:
            elsewhere = entry.is_of(namespace) and port.ifindex in present.values()
            if port.name == ifname and (index is None or not elsewhere):
                return entry
    return None


def brought_along(ifname: str) -> Attachment | None:
    """The attachment that was made in another namespace before the interface moved here: its
    link holds a program of the interface."""
    index = interfaces.indices().get(ifname)
    held = xdp.query(index).ids() if index is not None else set()
    for entry in journal.attachments() if held else []:
        for port in entry.ports:
            if port.xdp_program in held and own_link(entry, port) is not None:
                return entry
    return None


def not_attached(ifname: str) -> UserError:
    """What to say of an interface with neither attachment nor remains. Raises another UserError if
    there is no such interface."""
    interfaces.find([ifname])
    return UserError(
        f"NetClone is not attached to {ifname}", hint="'netclone-host status' lists where"
    )


def names_now(attachment: Attachment, namespace: NetnsId) -> list[str]:
    """The present names of the ports; the former name of one that has left."""
    if not attachment.is_of(namespace):
        return attachment.ifnames
    pairs = zip(_present(attachment), attachment.ports, strict=True)
    return [name or port.name for name, port in pairs]


def is_stale(attachment: Attachment, namespace: NetnsId) -> bool:
    """Left behind by an attach that died, a namespace that is gone, or interfaces that are."""
    if not attachment.complete or not attachment.is_of(namespace):
        return True
    return None in _present(attachment)


def is_gone(attachment: Attachment) -> bool:
    """Whether its interfaces were deleted, in whatever namespace: their links have no index any
    more. An attach that died before its first link is gone with its namespace."""
    links = [link for _, link in own_links(attachment) if link]
    if links:
        return all(link.ifindex == 0 for link in links)
    return not netns.exists(attachment.netns_inode)


def _present(attachment: Attachment) -> list[str | None]:
    """The name of each port in the namespace of the calling thread, None if it has left."""
    names = {index: name for name, index in interfaces.indices().items()}
    found = [(port, names.get(port.ifindex)) for port in attachment.ports]
    return [name if name and _has_index(attachment, port, name) else None for port, name in found]


def _has_index(attachment: Attachment, port: Port, name: str) -> bool:
    """Whether the interface of this name, which has the port's index, is the port. Indices are
    used again; if the name differs, only the link can tell."""
    if port.name == name:
        return True
    with suppress(PermissionError):
        link = own_link(attachment, port)
        return link is not None and link.ifindex == port.ifindex
    return False


# ---- attachments without one ----


@dataclass(frozen=True)
class Remains:
    """As much as could be found out; the attachment's role is empty if it is unknown."""

    cause: Health
    """DAMAGED or ORPHANED."""
    attachment: Attachment

    def error(self) -> UserError:
        """The error where the journal would be needed."""
        if self.cause is Health.DAMAGED:
            path = self.attachment.path
            message = f"the journal {path} is damaged, or of another version"
        else:
            message = f"the pins {self.attachment.pin_dir} have no journal in {journal.run_dir()}"
        return UserError(
            message,
            hint=f"'netclone-host detach {self.attachment.ifnames[0]}' clears it, then attach "
            "again; 'netclone-host detach --gone' if the interface is gone",
        )

    def is_on(self, ports: Sequence[Interface]) -> bool:
        """By name or by index: sometimes only one of them is known."""
        names, indices = {port.name for port in ports}, {port.ifindex for port in ports}
        return any(p.name in names or p.ifindex in indices for p in self.attachment.ports)


def remains(netns_inode: int | None = None) -> list[Remains]:
    """The remains of one namespace, or of all."""
    known = {entry.pin_dir for entry in journal.attachments(netns_inode)}
    found = [
        Remains(Health.DAMAGED, _of_pins(pins.root() / path.parent.name / path.stem))
        for path in journal.damaged(netns_inode)
    ]
    known |= {entry.attachment.pin_dir for entry in found}
    for directory in pins.directories(netns_inode):
        if str(directory) not in known and any(map(pins.is_ours, pins.entries(directory))):
            found.append(Remains(Health.ORPHANED, _of_pins(directory)))
    return found


def remains_of(ifname: str, namespace: NetnsId) -> Remains | None:
    """Remains on the interface, or else remains that know it by name."""
    index = interfaces.indices().get(ifname)
    found = remains(namespace.inode)
    on_it = [one for one in found if any(p.ifindex == index for p in one.attachment.ports)]
    called = [one for one in found if ifname in one.attachment.ifnames]
    return next(iter([*on_it, *called]), None)


def _of_pins(directory: Path) -> Attachment:
    """Everything that the pins tell, and the interfaces if they are here."""
    inode = int(directory.parent.name.removeprefix("net-"))
    here = netns.current()
    entries = pins.entries(directory)
    configs = [_CONFIGS[entry.name] for entry in entries if entry.name in _CONFIGS]
    map_ids = _map_ids(entries)
    # The journal has the name of the first port, and so have the pins.
    ports = {directory.name: Port(directory.name)}
    for entry in entries:
        _note_link(entry, ports, map_ids)
    attachment = Attachment(
        role=configs[0].value if configs else "",
        loader="",
        netns_inode=inode,
        netns_cookie=here.cookie if inode == here.inode else journal.UNKNOWN_COOKIE,
        boot_id=here.boot_id,
        pin_dir=str(directory),
        ports=list(ports.values()),
        settings=_settings(directory),
    )
    if inode == here.inode and attachment.role != Role.SWITCH:
        _find_filters(attachment, map_ids)
    return attachment


def _note_link(pin: Path, ports: dict[str, Port], map_ids: set[int]) -> None:
    """What a link's pin tells of the port that it is called after."""
    if pin.name.startswith(pins.LINK):
        port = ports.setdefault(name := pin.name.removeprefix(pins.LINK), Port(name))
        if link := _link_of_ours(pin, LinkType.XDP, map_ids, _XDP_NAMES):
            port.ifindex, port.xdp_program = link.ifindex, link.program_id
    elif pin.name.startswith(pins.EGRESS_LINK):
        port = ports.setdefault(name := pin.name.removeprefix(pins.EGRESS_LINK), Port(name))
        if link := _link_of_ours(pin, LinkType.TCX, map_ids, _TC_NAMES):
            port.ifindex, port.tc_program, port.tcx = link.ifindex, link.program_id, True


def _link_of_ours(
    pin: Path, kind: LinkType, map_ids: set[int], names: set[str]
) -> objects.LinkInfo | None:
    with suppress(OSError):
        link = objects.pinned_link(pin, kind)
        if _is_our_program(link.program_id, map_ids, names):
            return link
    return None


def _settings(directory: Path) -> dict[str, int]:
    try:
        fd = objects.open_pin(directory / MapName.SERVER_CONFIG)
    except OSError:
        return {}
    try:
        found = maps.Map.pinned_as(MapName.SERVER_CONFIG, fd)
        config = Table(found, ServerConfig)[0] if found else None
    except ValueError:  # another version's
        return {}
    finally:
        os.close(fd)
    return {"server_id": config.sid, "workers": config.workers} if config else {}


def _find_filters(attachment: Attachment, map_ids: set[int]) -> None:
    """The filter that uses the pinned maps; if no map is pinned, the one with our name."""
    first = attachment.ports[0]
    present = interfaces.indices()
    if not map_ids:
        first.ifindex = first.ifindex or present.get(first.name, 0)
        if first.ifindex in present.values():
            first.xdp_program = first.xdp_program or _our_program(first.ifindex)
    # Without maps only names are left: the program's, and so the interface's.
    for ifindex in present.values() if map_ids else {first.ifindex} & set(present.values()):
        for priority, program in tc.egress_programs(ifindex):
            if _is_our_program(program, map_ids, _TC_NAMES):
                first.ifindex, first.tc_priority, first.tc_program = ifindex, priority, program
                first.tcx = False


def _map_ids(entries: list[Path]) -> set[int]:
    found = set()
    for entry in entries:
        if entry.name.startswith((pins.LINK, pins.EGRESS_LINK)):
            continue
        try:
            fd = objects.open_pin(entry)
        except OSError:
            continue
        try:
            if maps.is_map(fd):
                found.add(maps.map_id(fd))
        finally:
            os.close(fd)
    return found


def _is_our_program(program: int, map_ids: set[int], names: set[str]) -> bool:
    """By the maps it uses; if none is known, by its name."""
    if map_ids:
        return bool(map_ids & set(objects.map_ids_of_program(program)))
    return _name_of(program) in names


def _our_program(ifindex: int) -> int:
    """Id of an XDP program with a name of ours, whose link is pinned elsewhere; or 0."""
    ours = (program for program in xdp.query(ifindex).ids() if _name_of(program) in _XDP_NAMES)
    return next(ours, 0)


def _name_of(program: int) -> str:
    """Empty if it is gone, or without the privilege to look."""
    try:
        info = objects.program_by_id(program)
    except PermissionError:
        return ""
    return info.name if info else ""
