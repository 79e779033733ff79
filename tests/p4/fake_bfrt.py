# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A switch behind BfRt, as far as the control plane uses it: a bfrt_grpc.client of tables
in memory that refuses what the real one refuses."""

from __future__ import annotations

from typing import Any

DEFAULT = "default"


class BfruntimeReadWriteRpcException(Exception):
    pass


class KeyTuple:
    def __init__(self, name: str, value: int) -> None:
        self.name, self.value = name, value


class DataTuple:
    def __init__(self, name: str, val: Any = None, **arrays: Any) -> None:
        self.name = name
        self.value = val if val is not None else next(iter(arrays.values()))


class Target:
    def __init__(self, device_id: int, pipe_id: int) -> None:
        assert pipe_id == 0xFFFF, "entries belong in all pipelines"


class Record:
    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def to_dict(self) -> dict[str, Any]:
        return self.values


class Table:
    def __init__(self, name: str, writes: list[str]) -> None:
        self.name, self.writes = name, writes
        self.entries: dict[Any, dict[str, Any]] = {}

    def make_key(self, fields: list[KeyTuple]) -> tuple[tuple[str, int], ...]:
        return tuple((field.name, field.value) for field in fields)

    def make_data(self, fields: list[DataTuple], action: str = "") -> dict[str, Any]:
        return {"action_name": action, **{field.name: field.value for field in fields}}

    def entry_get(self, target: Target, keys: Any, flags: Any = None) -> list[tuple[Any, Any]]:
        return [
            (Record(data), Record({name: {"value": value} for name, value in key}))
            for key, data in self.entries.items()
            if key != DEFAULT
        ]

    def default_entry_get(self, target: Target) -> list[tuple[Any, Any]]:
        default = self.entries.get(DEFAULT, {"action_name": "NoAction"})
        return [(Record(default), None)]

    def default_entry_set(self, target: Target, data: dict[str, Any]) -> None:
        self.writes.append(f"default {self.name}")
        self.entries[DEFAULT] = data

    def entry_add(self, target: Target, keys: list[Any], data: list[Any]) -> None:
        for key, value in zip(keys, data, strict=True):
            if key in self.entries:
                raise BfruntimeReadWriteRpcException(f"{self.name}: already exists")
            self.writes.append(f"add {self.name}")
            self.entries[key] = value

    def entry_mod(self, target: Target, keys: list[Any], data: list[Any]) -> None:
        for key, value in zip(keys, data, strict=True):
            if key not in self.entries and self.name != "$pre.prune":  # which has all entries
                raise BfruntimeReadWriteRpcException(f"{self.name}: no such entry")
            self.writes.append(f"mod {self.name}")
            self.entries[key] = value

    def entry_del(self, target: Target, keys: list[Any]) -> None:
        for key in keys:
            if key not in self.entries:
                raise BfruntimeReadWriteRpcException(f"{self.name}: no such entry")
            self.writes.append(f"del {self.name}")
            del self.entries[key]


class Info:
    def __init__(self, switch: Switch) -> None:
        self._switch = switch

    def table_get(self, name: str) -> Table:
        return self._switch.tables.setdefault(name, Table(name, self._switch.writes))


class Switch:
    """What ClientInterface reaches; stands for the module too."""

    KeyTuple, DataTuple, Target = KeyTuple, DataTuple, Target
    BfruntimeReadWriteRpcException = BfruntimeReadWriteRpcException

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.writes: list[str] = []
        self.up = True

    def ClientInterface(self, address: str, client_id: int, device_id: int) -> Switch:
        if not self.up:
            raise RuntimeError("failed to connect to all addresses")
        return self

    def bind_pipeline_config(self, program: str) -> None:
        assert program == "netclone"

    def bfrt_info_get(self, program: str) -> Info:
        return Info(self)
