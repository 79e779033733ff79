# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attachments whose journal is damaged or lost: what the kernel still knows of them.

Their pins say enough to undo them. A directory of ours holds the maps, and the links with the
interfaces that they are on; a filter is ours if its program uses one of those maps. Whether
clsact was there before is not known any more, so it stays.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path

from netclone_host.attach import journal, pins
from netclone_host.attach.journal import Attachment, Port
from netclone_host.attach.roles import PROGRAMS, Role
from netclone_host.attach.table_access import Table
from netclone_host.attach.tables import MapName, ServerConfig
from netclone_host.errors import UserError
from netclone_host.kernel import interfaces, maps, netns, objects, tc, xdp

_CONFIGS: dict[str, Role] = {
    MapName.SERVER_CONFIG: Role.SERVER,
    MapName.CLIENT_CONFIG: Role.CLIENT,
    MapName.SWITCH_CONFIG: Role.SWITCH,
}


class Cause(enum.StrEnum):
    """Why there is no journal to go by; also the word for it in `status`."""

    DAMAGED = "damaged"
    ORPHANED = "orphaned"


@dataclass(frozen=True)
class Remains:
    """What could be found out; the attachment's role is empty where that is unknown."""

    cause: Cause
    attachment: Attachment

    def error(self) -> UserError:
        """What to say where the journal would be needed."""
        if self.cause is Cause.DAMAGED:
            path = self.attachment.path
            message = f"the journal {path} is damaged, or of another version"
        else:
            message = f"the pins {self.attachment.pin_dir} have no journal in {journal.run_dir()}"
        return UserError(
            message,
            hint=f"'netclone-host detach {self.attachment.ifnames[0]}' clears it, then attach "
            "again; 'netclone-host detach --gone' if the interface is gone",
        )


def remains(netns_inode: int | None = None) -> list[Remains]:
    """Of one namespace, or of all."""
    known = {entry.pin_dir for entry in journal.attachments(netns_inode)}
    found = [Remains(Cause.DAMAGED, _of_journal(path)) for path in journal.damaged(netns_inode)]
    known |= {entry.attachment.pin_dir for entry in found}
    for directory in _pin_directories(netns_inode):
        if str(directory) not in known and any(map(pins.is_ours, _entries(directory))):
            found.append(Remains(Cause.ORPHANED, _of_pins(directory)))
    return found


def of_interface(ifname: str, namespace: netns.NetnsId) -> Remains | None:
    """Those that are on the interface; else those that know one by this name."""
    index = interfaces.indices().get(ifname, -1)
    found = remains(namespace.inode)
    on_it = [one for one in found if any(p.ifindex == index for p in one.attachment.ports)]
    called = [one for one in found if ifname in one.attachment.ifnames]
    return next(iter([*on_it, *called]), None)


def _pin_directories(netns_inode: int | None) -> list[Path]:
    pattern = "net-*" if netns_inode is None else f"net-{netns_inode}"
    try:
        found = sorted(pins.root().glob(f"{pattern}/*"))
        return [path for path in found if pins.is_namespace(path.parent) and path.is_dir()]
    except PermissionError:  # of a BPF file system only root sees anything
        return []


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _of_journal(path: Path) -> Attachment:
    return _of_pins(pins.root() / path.parent.name / path.stem)


def _of_pins(directory: Path) -> Attachment:
    """Everything that can be read off the pins, and the interfaces if they are here."""
    inode = int(directory.parent.name.removeprefix("net-"))
    here = netns.current()
    entries = _entries(directory)
    configs = [_CONFIGS[entry.name] for entry in entries if entry.name in _CONFIGS]
    map_ids = _map_ids(entries)
    links = [entry for entry in entries if entry.name.startswith(pins.LINK)]
    ports = [_port_of(entry, map_ids) for entry in links]
    if not any(port.name == directory.name for port in ports):
        ports.append(Port(directory.name, 0))
    # The journal has the name of the first port, and so have the pins.
    ports.sort(key=lambda port: port.name != directory.name)
    attachment = Attachment(
        role=configs[0].value if configs else "",
        loader="",
        netns_inode=inode,
        netns_cookie=here.cookie if inode == here.inode else 0,
        boot_id=here.boot_id,
        pin_dir=str(directory),
        ports=ports,
        settings=_settings(directory),
    )
    if inode == here.inode and attachment.role != Role.SWITCH:
        _find_filters(attachment, map_ids)
    return attachment


def _port_of(link_pin: Path, map_ids: set[int]) -> Port:
    port = Port(link_pin.name.removeprefix(pins.LINK), 0)
    try:
        link = objects.pinned_link(link_pin)
    except OSError:
        return port
    if _is_our_program(link.program_id, map_ids, {names.xdp for names in PROGRAMS.values()}):
        port.ifindex, port.xdp_program = link.ifindex, link.program_id
    return port


def _settings(directory: Path) -> dict[str, int]:
    try:
        fd = objects.open_pin(directory / MapName.SERVER_CONFIG)
    except OSError:
        return {}
    try:
        table = maps.Map.pinned_as(MapName.SERVER_CONFIG, fd)
        config = Table(table, ServerConfig)[0] if table else None
    finally:
        os.close(fd)
    if config is None:
        return {}
    return {"server_id": config.sid, "workers": config.workers}


def _find_filters(attachment: Attachment, map_ids: set[int]) -> None:
    """The filter that uses the pinned maps; where no map is pinned, the one of our name."""
    first = attachment.ports[0]
    present = interfaces.indices()
    if not map_ids:
        first.ifindex = first.ifindex or present.get(first.name, 0)
        if first.ifindex in present.values():
            first.xdp_program = first.xdp_program or _our_program(first.ifindex)
    # Without maps there is only the name to go by, and so the interface of the name.
    for ifindex in present.values() if map_ids else {first.ifindex} & set(present.values()):
        for priority, program in tc.egress_programs(ifindex):
            if _is_our_program(program, map_ids, {names.tc for names in PROGRAMS.values()}):
                first.ifindex, first.tc_priority, first.tc_program = ifindex, priority, program


def _map_ids(entries: list[Path]) -> set[int]:
    found = set()
    for entry in entries:
        if entry.name.startswith(pins.LINK):
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


def _is_our_program(program: int, map_ids: set[int], names: set[str | None]) -> bool:
    """By the maps it uses; where none is known, by its name."""
    if map_ids:
        return bool(map_ids & set(objects.map_ids_of_program(program)))
    return _name_of(program) in names


def _our_program(ifindex: int) -> int:
    """Id of an XDP program of our name, 0 if there is none: its link is pinned elsewhere."""
    for _, program in xdp.query(ifindex).programs():
        if _name_of(program) in {names.xdp for names in PROGRAMS.values()}:
            return program
    return 0


def _name_of(program: int) -> str:
    """Empty if it is gone, or if it may not be looked at."""
    try:
        info = objects.program_by_id(program)
    except PermissionError:
        return ""
    return info.name if info else ""
