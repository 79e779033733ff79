# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BPF maps, by file descriptor.

Every function raises OSError with the kernel's errno; callers turn that into a sentence.
"""

from __future__ import annotations

import ctypes
import enum
import errno
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_char, c_uint32
from dataclasses import dataclass
from typing import Any

from netclone_host.kernel import libbpf
from netclone_host.kernel.objects import NAME_LEN, fd_info, object_info

_DELETERS = 64
ANY = 0  # flag of an update: create or replace


class MapType(enum.IntEnum):
    """enum bpf_map_type, as far as it is used here."""

    ARRAY = 2
    PERCPU_ARRAY = 6
    ARRAY_OF_MAPS = 12
    DEVMAP = 14
    XSKMAP = 17
    DEVMAP_HASH = 25


PER_CPU_TYPES = (5, 6, 10, 21)  # PERCPU_HASH, PERCPU_ARRAY, LRU_PERCPU_HASH, cgroup storage


class _MapInfo(ctypes.Structure):
    _fields_ = [
        ("type", c_uint32),
        ("id", c_uint32),
        ("key_size", c_uint32),
        ("value_size", c_uint32),
        ("max_entries", c_uint32),
        ("map_flags", c_uint32),
        ("name", c_char * NAME_LEN),
    ]


def is_map(fd: int) -> bool:
    """Whether this is a map, not a program or a link."""
    return "map_id" in fd_info(fd)


@dataclass(frozen=True)
class Map:
    """A map by its file descriptor; keys and values are bytes of the sizes given.

    A per-CPU map is read as one value for each possible CPU, in order.
    """

    fd: int
    name: str
    type: int
    key_size: int
    value_size: int
    max_entries: int

    @classmethod
    def of(cls, fd: int) -> Map:
        info = object_info(fd, _MapInfo)
        return cls(
            fd, info.name.decode(), info.type, info.key_size, info.value_size, info.max_entries
        )

    @classmethod
    def pinned_as(cls, name: str, fd: int) -> Map | None:
        """The map that was pinned under its own name; None if something else is pinned there: then
        neither kind nor sizes are what the name promises."""
        if not is_map(fd):
            return None
        found = cls.of(fd)
        return found if found.name == name else None

    @property
    def per_cpu(self) -> bool:
        return self.type in PER_CPU_TYPES

    def update(self, key: Any, value: Any) -> None:
        """`key` and `value` are bytes, ctypes objects, or an int of the map's size."""
        key_bytes, value_bytes = _as_bytes(key, self.key_size), _as_bytes(value, self.value_size)
        libbpf.call("bpf_map_update_elem", self.fd, key_bytes, value_bytes, ANY)

    def update_many(self, entries: Mapping[int, Any]) -> None:
        """Many entries by one system call (kernel 5.6). For an array of maps the kernel then waits
        for running programs once, not once per entry."""
        if not entries:
            return
        keys = b"".join(_as_bytes(key, self.key_size) for key in entries)
        values = b"".join(_as_bytes(value, self.value_size) for value in entries.values())
        count = c_uint32(len(entries))
        libbpf.call("bpf_map_update_batch", self.fd, keys, values, ctypes.byref(count), None)

    def lookup(self, key: Any) -> bytes | None:
        """The value, or None if there is none."""
        return self._lookup(key, self.value_size)

    def number(self, key: Any) -> int:
        """The value as one unsigned number; 0 where there is none."""
        return int.from_bytes(self.lookup(key) or b"", "little")

    def values(self) -> bytes:
        """All values of an array, concatenated, by one system call (kernel 5.6)."""
        keys = ctypes.create_string_buffer(self.max_entries * self.key_size)
        values = ctypes.create_string_buffer(self.max_entries * self.value_size)
        count, position = c_uint32(self.max_entries), c_uint32()
        try:
            libbpf.call(
                "bpf_map_lookup_batch",
                self.fd,
                None,
                ctypes.byref(position),
                keys,
                values,
                ctypes.byref(count),
                None,
            )
        except OSError as error:
            if error.errno != errno.ENOENT:  # which means that the end was reached
                raise
        return values.raw

    def locked_bytes(self) -> int:
        """Memory that the kernel accounts to it."""
        return int(fd_info(self.fd).get("memlock", 0))

    def lookup_per_cpu(self, key: Any) -> list[bytes]:
        stride = -(-self.value_size // 8) * 8
        values = self._lookup(key, stride * libbpf.possible_cpus())
        if values is None:
            raise KeyError(key)
        return [values[at : at + self.value_size] for at in range(0, len(values), stride)]

    def _lookup(self, key: Any, size: int) -> bytes | None:
        value = ctypes.create_string_buffer(size)
        try:
            libbpf.call("bpf_map_lookup_elem", self.fd, _as_bytes(key, self.key_size), value)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return None
            raise
        return value.raw

    def delete(self, key: Any) -> None:
        libbpf.call("bpf_map_delete_elem", self.fd, _as_bytes(key, self.key_size))

    def delete_many(self, keys: Iterable[Any]) -> None:
        """Many entries at once. The kernel has no batch call for that on an array of maps, and each
        deletion waits for all running programs; so they wait together."""
        with ThreadPoolExecutor(_DELETERS) as deleters:
            for done in [deleters.submit(self.delete, key) for key in keys]:
                done.result()

    def each_key(self) -> Iterator[bytes]:
        """Keys in the kernel's order; the map may change meanwhile."""
        key: bytes | None = None
        following = ctypes.create_string_buffer(self.key_size)
        while True:
            try:
                libbpf.call("bpf_map_get_next_key", self.fd, key, following)
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return
                raise
            key = following.raw
            yield key


def _as_bytes(value: Any, size: int) -> bytes:
    data = value.to_bytes(size, "little") if isinstance(value, int) else bytes(value)
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes given where the map has {size}")
    return data


def create_map(kind: MapType, name: str, key_size: int, value_size: int, max_entries: int) -> Map:
    fd = libbpf.call("bpf_map_create", kind, name.encode(), key_size, value_size, max_entries, None)
    return Map(fd, name, kind, key_size, value_size, max_entries)


class DevmapValue(ctypes.Structure):
    """Value of a devmap entry: where to, and the program that runs on the way
    (struct bpf_devmap_val; written as a file descriptor, read back as an id)."""

    _fields_ = [("ifindex", c_uint32), ("prog_fd", c_uint32)]


def create_devmap(name: str, max_entries: int) -> Map:
    """A DEVMAP whose entries may run a program."""
    size = ctypes.sizeof(DevmapValue)
    return create_map(MapType.DEVMAP, name, ctypes.sizeof(c_uint32), size, max_entries)


def devmap_values(devmap: Map) -> list[DevmapValue]:
    """All entries; one whose interface was deleted is all zero."""
    empty = bytes(devmap.value_size)
    return [
        DevmapValue.from_buffer_copy(devmap.lookup(index) or empty)
        for index in range(devmap.max_entries)
    ]


def map_id(fd: int) -> int:
    """The kernel's id of a map."""
    return int(object_info(fd, _MapInfo).id)


def map_by_id(map_id: int) -> Map:
    return Map.of(libbpf.call("bpf_map_get_fd_by_id", map_id))
