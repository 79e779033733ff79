# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The native library (xdp/native) as a target, by ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from netclone_host.attach import tables as abi
from netclone_host.counters import Hook
from netclone_host.counters import names as counter_names
from tests.conformance.playing import Seen
from tests.conformance.runners import tables as form
from tests.conformance.scenario import Scenario, Step, Tables

LIBRARY = Path(__file__).resolve().parents[3] / "build/native/libnetclone.so"
MAX_FRAME = 16384
START_NS = 1_000_000_000_000

_T = TypeVar("_T")


class _Out(ctypes.Structure):
    _fields_ = [("port", c_uint32), ("length", c_uint32), ("frame", c_uint8 * MAX_FRAME)]


def _library() -> Any:
    library = ctypes.CDLL(str(LIBRARY))
    for role in ("switch", "server", "client"):
        function = getattr(library, f"nc_native_{role}")
        function.restype, function.argtypes = c_void_p, [c_void_p]
    library.nc_native_free.restype, library.nc_native_free.argtypes = None, [c_void_p]
    library.nc_native_table.restype = c_void_p
    library.nc_native_table.argtypes = [c_void_p, c_char_p, POINTER(c_size_t)]
    library.nc_native_leave.restype = c_int
    library.nc_native_leave.argtypes = [c_void_p, c_void_p]
    library.nc_native_feed.restype = c_int
    library.nc_native_feed.argtypes = [
        c_void_p, c_uint32, c_char_p, c_size_t, c_uint64, c_int, c_void_p,
    ]  # fmt: skip
    return library


class Node:
    """One switch, server or client of the library."""

    def __init__(self, role: str, config: ctypes.Structure) -> None:
        self._library = _library()
        self._handle = getattr(self._library, f"nc_native_{role}")(byref(config))
        if not self._handle:
            raise MemoryError
        self._out = (_Out * 2)()

    def close(self) -> None:
        self._library.nc_native_free(self._handle)
        self._handle = None

    def feed(self, port: int, frame: bytes, now_ns: int, partial: bool) -> list[tuple[int, bytes]]:
        count = self._library.nc_native_feed(
            self._handle, port, frame, len(frame), now_ns, int(partial), self._out
        )
        if count < 0:
            raise ValueError(f"a frame of {len(frame)} bytes is too long")
        outs = [self._out[i] for i in range(count)]
        return [(out.port, bytes(out.frame[: out.length])) for out in outs]

    def leave(self, port: int, frame: bytes) -> bytes | None:
        """What the devmap program makes of a frame that leaves by a port; None: dropped."""
        out = self._out[0]
        out.port, out.length = port, len(frame)
        ctypes.memmove(out.frame, frame, len(frame))
        kept = self._library.nc_native_leave(self._handle, self._out)
        return bytes(out.frame[: out.length]) if kept else None

    def table(self, name: str, entry: type[_T]) -> ctypes.Array[Any]:
        """The table's own memory as an array of `entry`."""
        size = c_size_t()
        at = self._library.nc_native_table(self._handle, name.encode(), byref(size))
        if not at:
            raise KeyError(name)
        count = size.value // ctypes.sizeof(entry)  # type: ignore[arg-type]
        array: Any = (entry * count).from_address(at)  # type: ignore[operator]
        return array

    def one(self, name: str, entry: type[_T]) -> _T:
        return self.table(name, entry)[0]  # type: ignore[no-any-return]


class Native:
    def __init__(self) -> None:
        self.node: Node | None = None

    def start(self, scenario: Scenario) -> None:
        if self.node:
            self.node.close()
        self.role = scenario.role
        self.now_ns = START_NS
        self.config = scenario.config
        config = form.config_of(scenario)
        self.node = Node(self.role, config)
        getattr(self, f"_fill_{self.role}")(scenario.before)

    def feed(self, step: Step) -> Seen:
        assert self.node
        self.now_ns = START_NS + step.at_ms * form.MS
        before = self.counts()
        frames = self.node.feed(step.port, step.frame, self.now_ns, step.offloaded)
        after = self.counts()
        changed = {name: n - before[name] for name, n in after.items() if n != before[name]}
        return Seen(frames, changed)

    def tables(self) -> Tables:
        tables: Tables = getattr(self, f"_read_{self.role}")()
        return tables

    def counts(self) -> dict[str, int]:
        assert self.node
        words = self.node.table("nc_counters", c_uint64)
        names = [f"{hook.label}.{counter}" for hook in Hook for counter in counter_names()]
        return dict(zip(names, words, strict=True))

    # ---- switch ----

    def _fill_switch(self, tables: Tables) -> None:
        assert self.node
        groups = self.node.table("nc_groups", abi.Group)
        for grp, (first, second) in tables["groups"].items():
            groups[int(grp)] = abi.Group(first, second)
        servers = self.node.table("nc_servers", abi.Server)
        for sid, entry in tables["servers"].items():
            servers[int(sid)] = form.address(entry, _same)
        state = self.node.table("nc_state", c_uint32)
        for sid, queue in tables["state"].items():
            state[int(sid)] = queue
        filters = self.node.table("nc_filter", c_uint64)
        slots = self.node.one("nc_switch_cfg", abi.SwitchConfig).filter_mask + 1
        for index, word in form.filter_words(tables, slots).items():
            filters[index] = word
        requests = self.node.table("nc_requests", c_uint64)
        for slot, word in tables["requests"]:
            requests[slot] = int(word, 16)
        attempts = self.node.table("nc_attempts", c_uint64)
        for slot, count in tables.get("attempts", []):
            attempts[slot] = count
        fdb = self.node.table("nc_fdb", c_uint64)
        for slot, word in form.fdb_words(tables, self.config, _same).items():
            fdb[slot] = word
        self.node.table("nc_sequence", c_uint64)[0] = tables["sequence"]
        roles = self.node.table("nc_port_roles", c_uint32)
        for port, role in form.port_roles(self.config, _same).items():
            roles[port] = role

    def _read_switch(self) -> Tables:
        assert self.node
        node = self.node
        config = node.one("nc_switch_cfg", abi.SwitchConfig)
        slots = config.filter_mask + 1
        groups = node.table("nc_groups", abi.Group)
        servers = node.table("nc_servers", abi.Server)
        state = node.table("nc_state", c_uint32)
        health = node.table("nc_health", abi.Health)
        valid = [sid for sid, server in enumerate(servers) if server.flags]
        return {
            "groups": {
                str(grp): [groups[grp].first, groups[grp].second]
                for grp in range(1, config.n_groups + 1)
            },
            "servers": {str(sid): form.address_entry(servers[sid], _same) for sid in valid},
            "state": {str(sid): state[sid] for sid in range(len(state))},
            "sequence": node.table("nc_sequence", c_uint64)[0] & 0xFFFFFFFF,
            "filter": [
                [i // slots, i % slots, hex(word)]
                for i, word in _set(node.table("nc_filter", c_uint64))
            ],
            "requests": [[i, hex(word)] for i, word in _set(node.table("nc_requests", c_uint64))],
            "attempts": [list(entry) for entry in _set(node.table("nc_attempts", c_uint64))],
            "fdb": dict(
                form.fdb_entry(word, _same) for _, word in _set(node.table("nc_fdb", c_uint64))
            ),
            "owed": {str(sid): entry.owed for sid, entry in enumerate(health) if entry.owed},
        }

    # ---- hosts ----

    def _fill_server(self, tables: Tables) -> None:
        assert self.node
        self.node.table("nc_app_state", c_uint32)[0] = tables["app_queue_length"]
        self.node.table("nc_reserve", abi.Reserve)[0] = form.averages(tables)

    def _read_server(self) -> Tables:
        assert self.node
        config = self.node.one("nc_server_cfg", abi.ServerConfig)
        slices = self.node.one("nc_slices", abi.Slices)
        return {
            "in_flight": form.live_in_flight(slices, config, self.now_ns),
            "app_queue_length": self.node.table("nc_app_state", c_uint32)[0],
            "averages": form.averages_entry(self.node.one("nc_reserve", abi.Reserve)),
        }

    def _fill_client(self, tables: Tables) -> None:
        assert self.node
        answered = self.node.table("nc_answered", c_uint64)
        for slot, key in tables["answered"]:
            answered[slot] = form.answered_word(int(key, 16), self.now_ns)

    def _read_client(self) -> Tables:
        assert self.node
        words = self.node.table("nc_answered", c_uint64)
        return {"answered": [[i, hex(w >> form.ANSWERED_TIME_BITS)] for i, w in _set(words)]}


def _same(port: int) -> int:
    return port


def _set(words: Any) -> Iterator[tuple[int, int]]:
    """(index, word) of the words that are not 0; numpy looks through large tables."""
    view = np.frombuffer(words, dtype=np.uint64)
    for index in np.flatnonzero(view):
        yield int(index), int(view[index])
