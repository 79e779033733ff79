# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BMv2: the plan through simple_switch's runtime command line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from netclone_host.control.entries import Action, Changes, Key, Plan, Replica
from netclone_host.control.p4.bmv2_cli import (
    Node,
    RuntimeCli,
    parse_multicast,
    parse_node_handle,
    parse_register,
    parse_table,
)
from netclone_host.control.p4.schema import TABLES, TableSchema, numbers_of, settings_schema

_TABLES: Mapping[str, TableSchema] = {
    **TABLES,
    "SwitchIngress.settings": settings_schema(fixed_filter_slots=False),
}
_REGISTERS = ("fdb",)


class Bmv2Switch:
    """One running simple_switch. Call `read` before `write`: it learns the handles that BMv2
    gives to entries."""

    def __init__(self, cli: RuntimeCli) -> None:
        self._cli = cli
        self._handles: dict[Key, int] = {}
        self._nodes: dict[int, list[Node]] = {}

    def read(self, desired: Plan) -> Plan:
        entries: dict[Key, Action] = {}
        dumps = self._cli.run([f"table_dump {table}" for table in _TABLES])
        for (table, schema), text in zip(_TABLES.items(), dumps, strict=True):
            found, default = parse_table(text)
            for entry in found:
                key = schema.key_of(table, entry.match)
                entries[key] = schema.action_of(entry.action, entry.params)
                self._handles[key] = entry.handle
            if default is not None and Key(table) in desired.entries:
                entries[Key(table)] = schema.action_of(*default)
        entries.update(self._read_registers(desired))
        self._nodes = parse_multicast(self._cli.run(["mc_dump"])[0])
        multicast = {
            group: tuple(sorted(Replica(port, node.rid) for node in nodes for port in node.ports))
            for group, nodes in self._nodes.items()
        }
        return Plan(entries, multicast)

    def _read_registers(self, desired: Plan) -> dict[Key, Action]:
        keys = [key for key in desired.entries if key.table in _REGISTERS]
        texts = self._cli.run([f"register_read {k.table} {k.match[0][1]}" for k in keys])
        values = {key: parse_register(text) for key, text in zip(keys, texts, strict=True)}
        return {key: Action("write", (("value", value),)) for key, value in values.items() if value}

    def write(self, changes: Changes) -> None:
        self._write_multicast(changes)
        commands = [f"table_delete {key.table} {self._handles.pop(key)}" for key in changes.delete]
        commands += [self._modify(key, action) for key, action in changes.modify.items()]
        commands += [self._insert(key, action) for key, action in changes.insert.items()]
        self._cli.run(commands)

    def _modify(self, key: Key, action: Action) -> str:
        if key.table in _REGISTERS or not key.match:
            return self._insert(key, action)
        name, params = _action_text(key.table, action)
        return f"table_modify {key.table} {name} {self._handles[key]} {params}"

    def _insert(self, key: Key, action: Action) -> str:
        if key.table in _REGISTERS:
            return f"register_write {key.table} {key.match[0][1]} {action.params[0][1]}"
        name, params = _action_text(key.table, action)
        if not key.match:
            return f"table_set_default {key.table} {name} {params}"
        match = " ".join(map(str, numbers_of(key.match, _TABLES[key.table].match)))
        return f"table_add {key.table} {name} {match} => {params}"

    def _write_multicast(self, changes: Changes) -> None:
        commands = []
        for group in (*changes.delete_multicast, *changes.multicast):
            if group in self._nodes:
                commands += [f"mc_node_destroy {node.handle}" for node in self._nodes.pop(group)]
                commands.append(f"mc_mgrp_destroy {group}")
        commands += [f"mc_mgrp_create {group}" for group in changes.multicast]
        self._cli.run(commands)
        nodes = [
            (group, rid, ports)
            for group, replicas in changes.multicast.items()
            for rid, ports in _ports_by_rid(replicas).items()
        ]
        texts = self._cli.run(
            [f"mc_node_create {rid} {' '.join(map(str, ports))}" for _, rid, ports in nodes]
        )
        handles = [parse_node_handle(text) for text in texts]
        self._cli.run(
            [
                f"mc_node_associate {group} {handle}"
                for (group, _, _), handle in zip(nodes, handles, strict=True)
            ]
        )


def _ports_by_rid(replicas: tuple[Replica, ...]) -> dict[int, list[int]]:
    ports: dict[int, list[int]] = defaultdict(list)
    for replica in replicas:
        ports[replica.rid].append(replica.port)
    return ports


def _action_text(table: str, action: Action) -> tuple[str, str]:
    """Full name and parameters, as the command line takes them."""
    schema = _TABLES[table]
    numbers = numbers_of(action.params, schema.actions[action.name])
    return schema.full_action(action.name), " ".join(map(str, numbers))
