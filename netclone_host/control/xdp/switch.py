# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running XDP switch: the plan through its pinned maps, while packets go on.

Order matters where a packet can look in between: a group never names a server that is
not in the address table, GRP is never in range before its group is written, and nothing is
cloned while a group and its devmap may disagree (`control.hold`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from netclone_host import crash_points
from netclone_host.attach import status, tables
from netclone_host.attach.journal import Attachment
from netclone_host.control import plan
from netclone_host.control.entries import Action, Changes, Key, Plan
from netclone_host.control.xdp import check, hold, members
from netclone_host.control.xdp import read as xdp_read
from netclone_host.control.xdp import write as xdp
from netclone_host.control.xdp.deleted_ports import GonePort
from netclone_host.control.xdp.fields import config_value, number, of_table, port_of, server_entry
from netclone_host.control.xdp.plan import CLONE_PORTS, CONFIG, FDB, GROUPS, PORTS, SERVERS
from netclone_host.errors import UserError
from netclone_host.kernel import libbpf, maps
from netclone_host.kernel.maps import Map
from netclone_host.signals import signals_wait
from netclone_host.topology import PortName

STATE, HEALTH = "nc_state", "nc_health"
_MAPS = (CONFIG, GROUPS, SERVERS, PORTS, CLONE_PORTS, FDB, STATE, HEALTH, "nc_filter")


class XdpSwitch:
    """The maps of one attachment."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    def read(self, desired: Plan) -> Plan:
        with self._open() as maps:
            return xdp_read.read(maps, desired)

    def write(self, changes: Changes) -> None:
        written = {**changes.modify, **changes.insert}
        with signals_wait(), self._open() as maps, contextlib.ExitStack() as stack:
            check.check_room(maps, written)
            ports = check.interfaces(written)
            check.check_ports(maps[PORTS], ports)
            before = tables.SwitchConfig.from_buffer_copy(maps[CONFIG].lookup(0) or b"")
            _forget(maps, changes, before)
            pairs = of_table(written, CLONE_PORTS)
            program = 0
            if pairs or of_table(written, SERVERS) or of_table(written, PORTS):
                program = stack.enter_context(_clone_program(maps[CLONE_PORTS]))
            _write_addresses(maps, written, ports, program)
            crash_points.reached("addresses")
            groups = {
                number(key): tables.Group(*(int(value) for _, value in action.params))
                for key, action in of_table(written, GROUPS).items()
            }
            if groups or pairs:
                with hold.cloning_held(maps[CONFIG], maps[CLONE_PORTS]):
                    _write_clone_ports(maps[CLONE_PORTS], pairs, ports, program)
                    crash_points.reached("clone-ports")
                    maps[GROUPS].update_many(groups)
                    crash_points.reached("groups")
            for action in of_table(written, CONFIG).values():
                kept = tables.SwitchFlag(before.flags)
                maps[CONFIG].update(0, config_value(action.params, kept))
            crash_points.reached("config")
            _delete(maps, changes.delete)

    @contextlib.contextmanager
    def _open(self) -> Iterator[dict[str, Map]]:
        with contextlib.ExitStack() as stack:
            yield {
                name: stack.enter_context(status.pinned_map(self._attachment, name))
                for name in _MAPS
            }


def _forget(maps: Mapping[str, Map], changes: Changes, before: tables.SwitchConfig) -> None:
    """What was known of an earlier server of the same id does not hold for a new one; and what
    servers owed before failures were looked for has not been cleared since by their answers."""
    written = {**changes.modify, **changes.insert}
    new = {number(key) for key in of_table(written, SERVERS)}
    # A removal that was killed may have left the server's row, and no group.
    new |= xdp_read.address_table(maps[SERVERS]).keys() - _asked(maps, before)
    for sid in new:
        maps[STATE].update(sid, 0)
    config = of_table(written, CONFIG).values()
    now_looked_for = any(dict(action.params)["server_timeout_ns"] for action in config)
    of_all = now_looked_for and not before.server_timeout_ns
    for sid in range(tables.MAX_SERVERS) if of_all else new:
        maps[HEALTH].update(sid, tables.Health())


def _asked(maps: Mapping[str, Map], before: tables.SwitchConfig) -> set[int]:
    """Servers that take part: those of the groups in range; where a change was killed that was
    writing these, those whose groups are all there."""
    pairs = xdp_read.group_table(maps[GROUPS])[1:]
    if before.flags & tables.SwitchFlag.HOLD:
        return set(members.whole(xdp_read.address_table(maps[SERVERS]), pairs))
    return {sid for pair in pairs[: before.n_groups] for sid in pair}


def _write_addresses(
    maps: Mapping[str, Map],
    written: Mapping[Key, Action],
    ports: Mapping[PortName, int],
    program: int,
) -> None:
    """Where servers are, before any group names them."""
    servers = {
        number(key): server_entry(action.params)
        for key, action in of_table(written, SERVERS).items()
    }
    names = {server.port for server in servers.values()}
    names |= {port_of(key.match) for key in of_table(written, PORTS)}
    for name in (name for name in names if not isinstance(name, GonePort)):
        maps[PORTS].update(ports[name], tables.DevmapValue(ports[name], program))
    for sid, server in servers.items():
        maps[SERVERS].update(sid, xdp.address_entry(server, ports[server.port]))
    for key, action in of_table(written, FDB).items():
        values = dict(action.params)
        mac, ifindex = plan.mac_bytes(str(values["mac"])), ports[values["port"]]
        maps[FDB].update(number(key), plan.fdb_entry(mac, ifindex))


def _delete(maps: Mapping[str, Map], keys: tuple[Key, ...]) -> None:
    """After the configuration: what is taken out is out of range by now. Servers last."""
    for table in (CLONE_PORTS, GROUPS, SERVERS):
        numbers = [number(key) for key in keys if key.table == table]
        if table == CLONE_PORTS:
            maps[table].delete_many(numbers)
        else:
            maps[table].update_many(dict.fromkeys(numbers, bytes(maps[table].value_size)))
        crash_points.reached(f"deleted-{table}")


def _write_clone_ports(
    outer: Map, entries: Mapping[Key, Action], ports: Mapping[PortName, int], program: int
) -> None:
    pairs = {
        number(key): (action.params[0][1], action.params[1][1]) for key, action in entries.items()
    }
    present = {port: 0 if isinstance(port, GonePort) else index for port, index in ports.items()}
    xdp.write_clone_ports(outer, pairs, present, program)


@contextlib.contextmanager
def _clone_program(outer: Map) -> Iterator[int]:
    program = libbpf.call("bpf_prog_get_fd_by_id", _clone_program_id(outer))
    try:
        yield program
    finally:
        os.close(program)


def _clone_program_id(outer: Map) -> int:
    """The program that marks copies is kept by the devmaps that run it."""
    for key in outer.each_key():
        inner_id = outer.lookup(key)
        if inner_id is None:
            continue
        devmap = maps.map_by_id(int.from_bytes(inner_id, "little"))
        try:
            values = [devmap.lookup(position) or bytes(8) for position in (0, 1)]
        finally:
            os.close(devmap.fd)
        for program in (tables.DevmapValue.from_buffer_copy(value).prog_fd for value in values):
            if program:
                return int(program)
    raise UserError(
        "the switch has lost its clone program",
        hint="detach the switch and attach it again",
    )
