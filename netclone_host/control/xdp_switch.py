# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running XDP switch: the plan through its pinned maps, while packets go on.

Order matters where a packet can look in between: a group never names a server that is
not in the address table, GRP is never in range before its group is written, and nothing is
cloned while a group and its devmap may disagree (`control.hold`).
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address

from netclone_host.bpf import abi, faults, libbpf, maps, state
from netclone_host.bpf.journal import Attachment
from netclone_host.bpf.maps import Map
from netclone_host.control import hold, plan, xdp
from netclone_host.control.entries import Action, Changes, Fields, Key, Plan, Value
from netclone_host.control.gone import GonePort, port_name
from netclone_host.control.xdp_plan import (
    CLONE_PORTS,
    CONFIG,
    FDB,
    GROUPS,
    PORTS,
    SERVERS,
    SET,
    server_fields,
)
from netclone_host.errors import UserError
from netclone_host.topology import PortName

_MAPS = (CONFIG, GROUPS, SERVERS, PORTS, CLONE_PORTS, FDB, "nc_filter")


class XdpSwitch:
    """The maps of one attachment."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    def read(self, desired: Plan) -> Plan:
        with self._open() as maps:
            config = abi.SwitchConfig.from_buffer_copy(maps[CONFIG].lookup(0) or b"")
            entries = {Key(CONFIG, (("index", 0),)): Action(SET, _config_fields(config))}
            entries.update(_read_groups(maps, config.n_groups, desired))
            entries.update(_read_servers(maps[SERVERS]))
            entries.update(_read_ports(maps[PORTS]))
            entries.update(_read_fdb(maps[FDB], desired))
        entries.update(_behind_gone_ports(desired))
        # Ports of clients belong to the attachment, not to the topology.
        return Plan({k: v for k, v in entries.items() if k.table != PORTS or k in desired.entries})

    def write(self, changes: Changes) -> None:
        written = {**changes.modify, **changes.insert}
        with hold.signals_wait(), self._open() as maps, contextlib.ExitStack() as stack:
            _check_room(maps, written)
            ports = _interfaces(written)
            _check_ports(maps[PORTS], ports)
            before = abi.SwitchConfig.from_buffer_copy(maps[CONFIG].lookup(0) or b"")
            servers = {
                _number(key): _server(action.params)
                for key, action in _of(written, SERVERS).items()
            }
            pairs = _of(written, CLONE_PORTS)
            names = {server.port for server in servers.values()}
            names |= {_port(key.match) for key in _of(written, PORTS)}
            program = (
                stack.enter_context(_clone_program(maps[CLONE_PORTS])) if names or pairs else 0
            )
            for name in (name for name in names if not isinstance(name, GonePort)):
                maps[PORTS].update(ports[name], abi.DevmapValue(ports[name], program))
            for sid, server in servers.items():
                maps[SERVERS].update(sid, xdp.address_entry(server, ports[server.port]))
            for key, action in _of(written, FDB).items():
                values = dict(action.params)
                mac, ifindex = plan.mac_bytes(str(values["mac"])), ports[values["port"]]
                maps[FDB].update(_number(key), plan.fdb_entry(mac, ifindex))
            faults.reached("addresses")
            groups = {
                _number(key): abi.Group(*(int(value) for _, value in action.params))
                for key, action in _of(written, GROUPS).items()
            }
            if groups or pairs:
                with hold.cloning_held(maps[CONFIG], maps[CLONE_PORTS]):
                    _write_clone_ports(maps[CLONE_PORTS], pairs, ports, program)
                    faults.reached("clone-ports")
                    maps[GROUPS].update_many(groups)
                    faults.reached("groups")
            for action in _of(written, CONFIG).values():
                maps[CONFIG].update(0, _config(action.params, before))
            faults.reached("config")
            _delete(maps, changes.delete)

    @contextlib.contextmanager
    def _open(self) -> Iterator[dict[str, Map]]:
        with contextlib.ExitStack() as stack:
            yield {
                name: stack.enter_context(state.pinned_map(self._attachment, name))
                for name in _MAPS
            }


def _delete(maps: Mapping[str, Map], keys: tuple[Key, ...]) -> None:
    """After the configuration: what is taken out is out of range by now. Servers last."""
    for table in (CLONE_PORTS, GROUPS, SERVERS):
        for key in keys:
            if key.table != table:
                continue
            if table == CLONE_PORTS:
                maps[table].delete(_number(key))
            else:
                maps[table].update(_number(key), bytes(maps[table].value_size))
        faults.reached(f"deleted-{table}")


def _config_fields(config: abi.SwitchConfig) -> Fields:
    ports = config.ports.port[: config.ports.count]
    return (
        ("ports", " ".join(map(str, ports))),
        ("racksched", int(bool(config.flags & abi.SwitchFlag.RACKSCHED))),
        ("cloning", int(not config.flags & abi.SwitchFlag.NO_CLONES)),
        ("reserve", int(bool(config.flags & abi.SwitchFlag.RESERVE))),
        ("n_groups", config.n_groups),
        ("n_filter_tables", config.n_filter_tables),
        ("filter_mask", config.filter_mask),
        ("switch_id", config.switch_id),
        ("server_timeout_ns", config.server_timeout_ns),
        ("held", int(bool(config.flags & abi.SwitchFlag.HOLD))),
    )


def _config(fields: Fields, before: abi.SwitchConfig) -> abi.SwitchConfig:
    """Generic mode is the attachment's, not the topology's: it stays. HOLD goes: by now the
    groups agree with their devmaps."""
    values = dict(fields)
    flags = abi.SwitchFlag(before.flags) & abi.SwitchFlag.GENERIC
    if values["racksched"]:
        flags |= abi.SwitchFlag.RACKSCHED
    if not values["cloning"]:
        flags |= abi.SwitchFlag.NO_CLONES
    if values["reserve"]:
        flags |= abi.SwitchFlag.RESERVE
    names = ("n_groups", "n_filter_tables", "filter_mask", "switch_id", "server_timeout_ns")
    return abi.SwitchConfig(
        ports=abi.Ports.of(tuple(int(port) for port in str(values["ports"]).split())),
        flags=flags,
        **{name: int(values[name]) for name in names},
    )


def _read_groups(maps: Mapping[str, Map], n_groups: int, desired: Plan) -> dict[Key, Action]:
    """Those in range, and what a change that was killed left beyond: no packet gets there."""
    words = memoryview(maps[GROUPS].values()).cast("H")
    pairs = list(zip(words[::2], words[1::2], strict=True))
    last = max((grp for grp, (first, second) in enumerate(pairs) if first != second), default=0)
    entries = {}
    for grp in range(1, len(pairs)):
        first, second = pairs[grp]
        inner = maps[CLONE_PORTS].lookup(grp)
        if grp > max(last, n_groups) and inner is None:
            break
        if grp <= n_groups or first != second:
            entries[Key(GROUPS, (("grp", grp),))] = Action(
                SET, (("first", first), ("second", second))
            )
        if inner is not None:
            key = Key(CLONE_PORTS, (("grp", grp),))
            found = _read_pair(int.from_bytes(inner, "little"))
            entries[key] = _as_desired(found, desired.entries.get(key, found))
    return entries


def _read_pair(map_id: int) -> Action:
    devmap = maps.map_by_id(map_id)
    try:
        first, second = (
            abi.DevmapValue.from_buffer_copy(devmap.lookup(position) or bytes(8)).ifindex
            for position in (0, 1)
        )
    finally:
        os.close(devmap.fd)
    return Action(SET, (("first", port_name(first)), ("second", port_name(second))))


def _as_desired(found: Action, desired: Action) -> Action:
    """The kernel takes a deleted link out of the devmaps, so which one it was is lost."""

    def one(mine: tuple[str, Value], theirs: tuple[str, Value]) -> tuple[str, Value]:
        both_gone = isinstance(mine[1], GonePort) and isinstance(theirs[1], GonePort)
        return theirs if both_gone else mine

    return Action(SET, tuple(map(one, found.params, desired.params)))


def _behind_gone_ports(desired: Plan) -> dict[Key, Action]:
    """Entries that lead to a port that is gone cannot be written, and nothing misses them."""
    ports = {key: _port(key.match) for key in desired.table(PORTS)}
    ports |= {key: _port(action.params) for key, action in desired.table(FDB).items()}
    return {key: desired.entries[key] for key, port in ports.items() if isinstance(port, GonePort)}


def _read_servers(servers: Map) -> dict[Key, Action]:
    entries = {}
    for sid in range(servers.max_entries):
        row = abi.Server.from_buffer_copy(servers.lookup(sid) or b"")
        if not row.flags & abi.ServerFlag.VALID:
            continue
        entries[Key(SERVERS, (("sid", sid),))] = Action(SET, server_fields(xdp.server_entry(row)))
    return entries


def _read_ports(ports: Map) -> dict[Key, Action]:
    indices = [int.from_bytes(key, "little") for key in ports.each_key() if ports.lookup(key)]
    return {Key(PORTS, (("port", port_name(ifindex)),)): Action(SET) for ifindex in indices}


def _read_fdb(fdb: Map, desired: Plan) -> dict[Key, Action]:
    """Of the servers only: what was learned is the data plane's."""
    entries = {}
    for key in desired.table(FDB):
        word = int.from_bytes(fdb.lookup(_number(key)) or b"", "little")
        if word:
            mac = (word >> 16).to_bytes(6, "big").hex(":")
            entries[key] = Action(SET, (("mac", mac), ("port", port_name(word & 0xFFFF))))
    return entries


def _check_room(maps: Mapping[str, Map], written: Mapping[Key, Action]) -> None:
    """Maps keep the size they were attached with."""
    for table in (GROUPS, CLONE_PORTS):
        room = maps[table].max_entries
        highest = max((_number(key) for key in _of(written, table)), default=0)
        if highest >= room:
            raise UserError(
                f"table {table} holds {room - 1} groups, the topology needs {highest}",
                hint="detach the switch and attach it again, with a larger capacity in [switch]",
            )
    for action in _of(written, CONFIG).values():
        values = dict(action.params)
        wanted = int(values["n_filter_tables"]) * (int(values["filter_mask"]) + 1)
        room = maps["nc_filter"].max_entries
        if wanted > room:
            raise UserError(
                f"table nc_filter holds {room} slots, the topology needs {wanted}",
                hint="detach the switch and attach it again with this topology",
            )


def _check_ports(table: Map, ports: Mapping[PortName, int]) -> None:
    for name, ifindex in ports.items():
        if ifindex >= table.max_entries:
            raise UserError(
                f"table {PORTS} holds interfaces with an index below {table.max_entries}, "
                f"{name} has {ifindex}",
                hint="detach the switch and attach it again with this topology",
            )


def _write_clone_ports(
    outer: Map, entries: Mapping[Key, Action], ports: Mapping[PortName, int], program: int
) -> None:
    pairs = {
        _number(key): (action.params[0][1], action.params[1][1]) for key, action in entries.items()
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
        for program in (abi.DevmapValue.from_buffer_copy(value).prog_fd for value in values):
            if program:
                return int(program)
    raise UserError(
        "the switch has lost its clone program",
        hint="detach the switch and attach it again",
    )


def _interfaces(written: Mapping[Key, Action]) -> dict[PortName, int]:
    """Index of every port that is to be written. UserError if this namespace lacks one."""
    names: set[PortName] = {_port(key.match) for key in _of(written, PORTS)}
    for table in (SERVERS, FDB):
        names |= {_port(action.params) for action in _of(written, table).values()}
    for action in _of(written, CLONE_PORTS).values():
        names |= {value for _, value in action.params}
    indices: dict[PortName, int] = {}
    for name in names:
        if isinstance(name, GonePort):
            indices[name] = name.ifindex
            continue
        try:
            indices[name] = socket.if_nametoindex(str(name))
        except OSError:
            raise UserError(
                f"this network namespace has no interface {name}",
                hint="the ports of an XDP switch are names of links; if one was deleted, leave its "
                "server out (--without-server ID), or detach, make the link and attach again",
            ) from None
    return indices


def _of(entries: Mapping[Key, Action], table: str) -> dict[Key, Action]:
    return {key: action for key, action in entries.items() if key.table == table}


def _number(key: Key) -> int:
    return int(key.match[0][1])


def _port(fields: Fields) -> PortName:
    return dict(fields)["port"]


def _server(fields: Fields) -> plan.ServerEntry:
    values = dict(fields)
    return plan.ServerEntry(
        plan.mac_bytes(str(values["mac"])),
        IPv4Address(values["ip4"]) if "ip4" in values else None,
        IPv6Address(values["ip6"]) if "ip6" in values else None,
        values["port"],
    )
