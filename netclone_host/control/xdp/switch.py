# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running XDP switch: brings its pinned maps to a plan, under traffic.

The order matters, because packets may look in between: a group never names a server that the
address table lacks, GRP is never in range before its group is written, and nothing is cloned
while a group and its devmap may disagree (`hold`).
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping

from netclone_host import crash_points
from netclone_host.attach import clone_ports, encoding
from netclone_host.attach.journal import Attachment
from netclone_host.attach.settings import mac_bytes
from netclone_host.attach.table_access import Table, pinned_map, table
from netclone_host.attach.tables import (
    MAX_SERVERS,
    Group,
    Health,
    MapName,
    Server,
    SwitchConfig,
    SwitchFlag,
)
from netclone_host.control.entries import Action, Changes, Key, Plan
from netclone_host.control.xdp import check, hold, members, read
from netclone_host.control.xdp.deleted_ports import GonePort
from netclone_host.control.xdp.fields import config_value, number, of_table, port_of, server_entry
from netclone_host.errors import UserError
from netclone_host.kernel import interfaces, libbpf, maps
from netclone_host.kernel.maps import DevmapValue, Map
from netclone_host.signals import signals_wait
from netclone_host.topology import PortName

_MAPS = (
    MapName.SWITCH_CONFIG,
    MapName.GROUPS,
    MapName.SERVERS,
    MapName.PORTS,
    MapName.CLONE_PORTS,
    MapName.FDB,
    MapName.STATE,
    MapName.HEALTH,
    MapName.FILTER,
)


class XdpSwitch:
    """The maps of one attachment."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    def read(self, desired: Plan) -> Plan:
        with self._open() as opened:
            return read.read(opened, desired)

    def write(self, changes: Changes) -> None:
        written = {**changes.modify, **changes.insert}
        with signals_wait(), self._open() as opened:
            check.check_room(opened, written)
            ports = check.interfaces(written)
            check.check_ports(opened[MapName.PORTS], ports)
            configs = table(opened, SwitchConfig)
            before = configs[0]
            _forget(opened, changes, before)
            with _clone_program(opened[MapName.CLONE_PORTS]) as program:
                _write_addresses(opened, written, ports, program)
                crash_points.reached("addresses")
                _write_groups(opened, written, ports, program)
            for action in of_table(written, MapName.SWITCH_CONFIG).values():
                config = config_value(action.params, before)
                config.longest_frame = _longest_frame(opened)
                configs[0] = config
            crash_points.reached("config")
            _delete(opened, changes.delete)

    @contextlib.contextmanager
    def _open(self) -> Iterator[dict[str, Map]]:
        with contextlib.ExitStack() as stack:
            yield {name: stack.enter_context(pinned_map(self._attachment, name)) for name in _MAPS}


def _forget(opened: Mapping[str, Map], changes: Changes, before: SwitchConfig) -> None:
    """Reset what was known of an earlier server with the id of a new one; and, when failure
    detection is switched on, all unanswered requests, which nobody has cleared before."""
    written = {**changes.modify, **changes.insert}
    new = {number(key) for key in of_table(written, MapName.SERVERS)}
    # A killed removal may have left the server's row, but no group.
    new |= read.address_table(opened).keys() - _asked(opened, before)
    for sid in new:
        opened[MapName.STATE].update(sid, 0)
    config = of_table(written, MapName.SWITCH_CONFIG).values()
    now_looked_for = any(dict(action.params)["server_timeout_ns"] for action in config)
    health = table(opened, Health)
    of_all = now_looked_for and not before.server_timeout_ns
    for sid in range(MAX_SERVERS) if of_all else new:
        health[sid] = Health()


def _asked(opened: Mapping[str, Map], before: SwitchConfig) -> set[int]:
    """Servers that take part: those of the groups in range or, if a change was killed while writing
    these, those whose groups are complete."""
    pairs = read.group_table(opened[MapName.GROUPS])[1:]
    if before.flags & SwitchFlag.HOLD:
        return set(members.whole(read.address_table(opened), pairs))
    return {sid for pair in pairs[: before.n_groups] for sid in pair}


def _write_addresses(
    opened: Mapping[str, Map],
    written: Mapping[Key, Action],
    ports: Mapping[PortName, int],
    program: Callable[[], int],
) -> None:
    """Write where servers are, before any group names them."""
    servers = {
        number(key): server_entry(action.params)
        for key, action in of_table(written, MapName.SERVERS).items()
    }
    names = {server.port for server in servers.values()}
    names |= {port_of(key.match) for key in of_table(written, MapName.PORTS)}
    for name in (name for name in names if not isinstance(name, GonePort)):
        opened[MapName.PORTS].update(ports[name], DevmapValue(ports[name], program()))
    rows: Table[Server] = table(opened, Server)
    mtus = interfaces.mtus()
    for sid, server in servers.items():
        ifindex = ports[server.port]
        longest = interfaces.longest_frame(mtus, ifindex)
        rows[sid] = encoding.address_entry(server, ifindex, longest)
    for key, action in of_table(written, MapName.FDB).items():
        values = dict(action.params)
        mac, ifindex = mac_bytes(str(values["mac"])), ports[values["port"]]
        opened[MapName.FDB].update(number(key), encoding.fdb_entry(mac, ifindex))


def _longest_frame(opened: Mapping[str, Map]) -> int:
    """That all servers' ports can send; 0: not known."""
    return min((row.max_frame for row in table(opened, Server).rows() if row.max_frame), default=0)


def _write_groups(
    opened: Mapping[str, Map],
    written: Mapping[Key, Action],
    ports: Mapping[PortName, int],
    program: Callable[[], int],
) -> None:
    """Write the groups and the ports that they leave by, while nothing is cloned."""
    groups = {
        number(key): Group(*(int(value) for _, value in action.params))
        for key, action in of_table(written, MapName.GROUPS).items()
    }
    present = {port: 0 if isinstance(port, GonePort) else index for port, index in ports.items()}
    pairs = {
        number(key): (present[action.params[0][1]], present[action.params[1][1]])
        for key, action in of_table(written, MapName.CLONE_PORTS).items()
    }
    if not groups and not pairs:
        return
    with hold.cloning_held(table(opened, SwitchConfig), opened[MapName.CLONE_PORTS]):
        if pairs:
            clone_ports.write(opened[MapName.CLONE_PORTS], pairs, program())
        crash_points.reached("clone-ports")
        opened[MapName.GROUPS].update_many(groups)
        crash_points.reached("groups")


def _delete(opened: Mapping[str, Map], keys: tuple[Key, ...]) -> None:
    """Called after the configuration is written, so the groups are out of range. Servers last."""
    for name in (MapName.CLONE_PORTS, MapName.GROUPS, MapName.SERVERS):
        numbers = [number(key) for key in keys if key.table == name]
        if name == MapName.CLONE_PORTS:
            opened[name].delete_many(numbers)
        else:
            opened[name].update_many(dict.fromkeys(numbers, bytes(opened[name].value_size)))
        crash_points.reached(f"deleted-{name}")


@contextlib.contextmanager
def _clone_program(outer: Map) -> Iterator[Callable[[], int]]:
    """Yields a function that opens the program that marks clones, when it is needed."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def opened() -> int:
            fd = libbpf.call("bpf_prog_get_fd_by_id", _clone_program_id(outer))
            stack.callback(os.close, fd)
            return fd

        yield opened


def _clone_program_id(outer: Map) -> int:
    """The devmaps that run the program keep it alive, and know its id."""
    for key in outer.each_key():
        inner_id = outer.number(key)
        if not inner_id:
            continue
        devmap = maps.map_by_id(inner_id)
        try:
            values = maps.devmap_values(devmap)
        finally:
            os.close(devmap.fd)
        for value in values:
            if value.prog_fd:
                return int(value.prog_fd)
    raise UserError(
        "the switch has lost its clone program",
        hint="detach the switch and attach it again",
    )
