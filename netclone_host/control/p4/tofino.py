# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tofino: the plan through BfRt, the gRPC interface of the switch's SDE.

Every call addresses all pipelines (pipe 0xffff): their tables hold the same entries, so that a
packet finds them wherever it enters. The client library is the SDE's own; it is imported
only when a switch is connected.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from netclone_host.control.entries import Action, Changes, Fields, Key, Plan, Replica
from netclone_host.control.p4.schema import TABLES, Field, TableSchema, numbers_of, settings_schema
from netclone_host.errors import UserError

DEFAULT_ADDRESS = "localhost:50052"
PROGRAM = "netclone"
ALL_PIPES = 0xFFFF
_CLIENT_ID = 0
_DEVICE_ID = 0
PREFIX = "pipe."
_NODES, _GROUPS, _PRUNE = "$pre.node", "$pre.mgid", "$pre.prune"
_BATCH = 1000

SCHEMAS: Mapping[str, TableSchema] = {
    **TABLES,
    "SwitchIngress.settings": settings_schema(fixed_filter_slots=True),
}


def import_client() -> Any:
    """The SDE's bfrt_grpc.client; UserError that names what is missing."""
    try:
        return importlib.import_module("bfrt_grpc.client")
    except ImportError as error:
        raise UserError(
            f"the Tofino back end needs the Python module {error.name or 'bfrt_grpc'}, "
            "which is not installed",
            hint="add the SDE's $SDE_INSTALL/lib/python*/site-packages/tofino to PYTHONPATH "
            "(and install grpcio and protobuf), or use --dry-run",
        ) from None


class TofinoSwitch:
    """One switch whose driver runs this project's program."""

    def __init__(self, address: str = DEFAULT_ADDRESS, program: str = PROGRAM) -> None:
        self.client = import_client()
        try:
            self._interface = self.client.ClientInterface(
                address, client_id=_CLIENT_ID, device_id=_DEVICE_ID
            )
            self._interface.bind_pipeline_config(program)
            self._info = self._interface.bfrt_info_get(program)
        except Exception as error:  # the client raises whatever gRPC gave it
            raise UserError(
                f"cannot use the program {program} on the switch at {address}: {error}",
                hint="start the driver with the compiled p4/tna/netclone.p4, and name its gRPC "
                "address with --address",
            ) from None
        self.target = self.client.Target(device_id=_DEVICE_ID, pipe_id=ALL_PIPES)

    def read(self, desired: Plan) -> Plan:
        entries: dict[Key, Action] = {}
        for table, schema in SCHEMAS.items():
            entries.update(self._read_table(table, schema))
            default = self._read_default(table, schema)
            if default is not None and Key(table) in desired.entries:
                entries[Key(table)] = default
        return Plan(entries, self._read_multicast())

    def _read_table(self, name: str, schema: TableSchema) -> dict[Key, Action]:
        if not schema.match:
            return {}
        table = self._info.table_get(PREFIX + name)
        entries = {}
        for data, key in table.entry_get(self.target, None, {"from_hw": False}):
            fields = key.to_dict()
            numbers = tuple(int(fields[field.p4_name]["value"]) for field in schema.match)
            entries[schema.key_of(name, numbers)] = _action_of(schema, data.to_dict())
        return entries

    def _read_default(self, name: str, schema: TableSchema) -> Action | None:
        table = self._info.table_get(PREFIX + name)
        for data, _ in table.default_entry_get(self.target):
            return _action_of(schema, data.to_dict())
        return None

    def _read_multicast(self) -> dict[int, tuple[Replica, ...]]:
        nodes: dict[int, tuple[Replica, ...]] = {}
        for data, key in self._info.table_get(_NODES).entry_get(self.target, None):
            fields, values = key.to_dict(), data.to_dict()
            rid = int(values["$MULTICAST_RID"])
            nodes[int(fields["$MULTICAST_NODE_ID"]["value"])] = tuple(
                Replica(int(port), rid) for port in values["$DEV_PORT"]
            )
        groups = {}
        for data, key in self._info.table_get(_GROUPS).entry_get(self.target, None):
            members = data.to_dict()["$MULTICAST_NODE_ID"]
            replicas = [replica for node in members for replica in nodes.get(int(node), ())]
            groups[int(key.to_dict()["$MGID"]["value"])] = tuple(sorted(replicas))
        return groups

    def write(self, changes: Changes) -> None:
        try:
            self._write_multicast(changes)
            for key in changes.delete:
                table, schema = self._table(key)
                table.entry_del(self.target, [self._key(table, schema, key.match)])
            self._write_entries(changes.modify, modify=True)
            self._write_entries(changes.insert, modify=False)
        except self.client.BfruntimeReadWriteRpcException as error:
            raise UserError(
                f"the switch refused a change: {error}",
                hint="is the program that runs there built from p4/tna/netclone.p4 of this "
                "version?",
            ) from None

    def _write_entries(self, entries: Mapping[Key, Action], modify: bool) -> None:
        batches: dict[str, list[tuple[Key, Action]]] = {}
        for key, action in entries.items():
            if key.match:
                batches.setdefault(key.table, []).append((key, action))
            else:
                table, schema = self._table(key)
                table.default_entry_set(self.target, self._data(table, schema, action))
        for batch in batches.values():
            table, schema = self._table(batch[0][0])
            write = table.entry_mod if modify else table.entry_add
            for start in range(0, len(batch), _BATCH):
                part = batch[start : start + _BATCH]
                write(
                    self.target,
                    [self._key(table, schema, key.match) for key, _ in part],
                    [self._data(table, schema, action) for _, action in part],
                )

    def _write_multicast(self, changes: Changes) -> None:
        """A group's nodes have ids of their own: the group's, and the position in it."""
        groups, nodes = self._info.table_get(_GROUPS), self._info.table_get(_NODES)
        present = {
            int(key.to_dict()["$MGID"]["value"]): data.to_dict()["$MULTICAST_NODE_ID"]
            for data, key in groups.entry_get(self.target, None)
        }
        for group in (*changes.delete_multicast, *changes.multicast):
            if group in present:
                groups.entry_del(self.target, [self._one_key(groups, "$MGID", group)])
                for node in present[group]:
                    nodes.entry_del(
                        self.target, [self._one_key(nodes, "$MULTICAST_NODE_ID", int(node))]
                    )
        for port in {
            replica.port for replicas in changes.multicast.values() for replica in replicas
        }:
            self._exclude(port)
        for group, replicas in changes.multicast.items():
            ids = [group << 12 | position for position in range(len(replicas))]
            for node, replica in zip(ids, replicas, strict=True):
                nodes.entry_add(
                    self.target,
                    [self._one_key(nodes, "$MULTICAST_NODE_ID", node)],
                    [self._node(nodes, replica)],
                )
            groups.entry_add(
                self.target,
                [self._one_key(groups, "$MGID", group)],
                [self._members(groups, ids)],
            )

    def _exclude(self, port: int) -> None:
        """A flooded frame does not go back: its exclusion id is the port that it came by."""
        prune = self._info.table_get(_PRUNE)
        ports = prune.make_data([self.client.DataTuple("$DEV_PORT", int_arr_val=[port])])
        prune.entry_mod(self.target, [self._one_key(prune, "$MULTICAST_L2_XID", port)], [ports])

    def table(self, name: str) -> Any:
        """A table of the program by BfRt's name for it, for what no plan holds: registers,
        counters."""
        return self._info.table_get(name)

    def _table(self, key: Key) -> tuple[Any, TableSchema]:
        return self._info.table_get(PREFIX + key.table), SCHEMAS[key.table]

    def _key(self, table: Any, schema: TableSchema, match: Fields) -> Any:
        numbers = numbers_of(match, schema.match)
        return table.make_key(
            [
                self.client.KeyTuple(field.p4_name, number)
                for field, number in zip(schema.match, numbers, strict=True)
            ]
        )

    def _data(self, table: Any, schema: TableSchema, action: Action) -> Any:
        params: tuple[Field, ...] = schema.actions.get(action.name, ())
        numbers = numbers_of(action.params, params)
        return table.make_data(
            [
                self.client.DataTuple(field.p4_name, number)
                for field, number in zip(params, numbers, strict=True)
            ],
            schema.full_action(action.name),
        )

    def _one_key(self, table: Any, name: str, number: int) -> Any:
        return table.make_key([self.client.KeyTuple(name, number)])

    def _node(self, table: Any, replica: Replica) -> Any:
        return table.make_data(
            [
                self.client.DataTuple("$MULTICAST_RID", replica.rid),
                self.client.DataTuple("$MULTICAST_LAG_ID", int_arr_val=[]),
                self.client.DataTuple("$DEV_PORT", int_arr_val=[replica.port]),
            ]
        )

    def _members(self, table: Any, nodes: list[int]) -> Any:
        return table.make_data(
            [
                self.client.DataTuple("$MULTICAST_NODE_ID", int_arr_val=nodes),
                self.client.DataTuple(
                    "$MULTICAST_NODE_L1_XID_VALID", bool_arr_val=[False] * len(nodes)
                ),
                self.client.DataTuple("$MULTICAST_NODE_L1_XID", int_arr_val=[0] * len(nodes)),
            ]
        )


def _action_of(schema: TableSchema, values: dict[str, Any]) -> Action:
    name = str(values["action_name"])
    params = schema.actions.get(name.rpartition(".")[2], ())
    return schema.action_of(name, tuple(int(values[field.p4_name]) for field in params))
