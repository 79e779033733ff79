# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the kernel keeps: maps, programs, links and pins, by file descriptor.

Every function raises OSError with the kernel's errno; callers turn that into a sentence.
"""

from __future__ import annotations

import ctypes
import enum
import errno
import os
from collections.abc import Iterator, Mapping
from ctypes import c_char, c_uint8, c_uint32, c_uint64
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from netclone_host.bpf import libbpf

NAME_LEN = 16
BPF_XDP_DEVMAP, BPF_XDP = 33, 37  # enum bpf_attach_type
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


class LinkType(enum.IntEnum):
    XDP = 6


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


class _ProgInfo(ctypes.Structure):
    _fields_ = [
        ("type", c_uint32),
        ("id", c_uint32),
        ("tag", c_uint8 * 8),
        ("jited_prog_len", c_uint32),
        ("xlated_prog_len", c_uint32),
        ("jited_prog_insns", c_uint64),
        ("xlated_prog_insns", c_uint64),
        ("load_time", c_uint64),
        ("created_by_uid", c_uint32),
        ("nr_map_ids", c_uint32),
        ("map_ids", c_uint64),
        ("name", c_char * NAME_LEN),
    ]


class _LinkInfo(ctypes.Structure):
    """struct bpf_link_info of an XDP link; the union is padded to its size."""

    _fields_ = [
        ("type", c_uint32),
        ("id", c_uint32),
        ("prog_id", c_uint32),
        ("unused", c_uint32),
        ("ifindex", c_uint32),
        ("padding", c_uint8 * 44),
    ]


class _LinkCreateOpts(ctypes.Structure):
    _fields_ = [
        ("sz", ctypes.c_size_t),
        ("flags", c_uint32),
        ("iter_info", ctypes.c_void_p),
        ("iter_info_len", c_uint32),
        ("target_btf_id", c_uint32),
        ("cookie", c_uint64),
    ]


_Info = TypeVar("_Info", bound=ctypes.Structure)


def _info(fd: int, kind: type[_Info]) -> _Info:
    info = kind()
    size = c_uint32(ctypes.sizeof(info))
    libbpf.call("bpf_obj_get_info_by_fd", fd, ctypes.byref(info), ctypes.byref(size))
    return info


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
        info = _info(fd, _MapInfo)
        return cls(
            fd, info.name.decode(), info.type, info.key_size, info.value_size, info.max_entries
        )

    @property
    def per_cpu(self) -> bool:
        return self.type in PER_CPU_TYPES

    def update(self, key: Any, value: Any) -> None:
        """`key` and `value` are bytes, ctypes objects, or an int of the map's size."""
        key_bytes, value_bytes = _as_bytes(key, self.key_size), _as_bytes(value, self.value_size)
        libbpf.call("bpf_map_update_elem", self.fd, key_bytes, value_bytes, ANY)

    def update_many(self, entries: Mapping[int, Any]) -> None:
        """Many entries by one system call (kernel 5.6). For an array of maps that also saves
        waiting for every running program once an entry."""
        if not entries:
            return
        keys = b"".join(_as_bytes(key, self.key_size) for key in entries)
        values = b"".join(_as_bytes(value, self.value_size) for value in entries.values())
        count = c_uint32(len(entries))
        libbpf.call("bpf_map_update_batch", self.fd, keys, values, ctypes.byref(count), None)

    def lookup(self, key: Any) -> bytes | None:
        """The value, or None if there is none."""
        values = self._lookup(key, self.value_size)
        return values

    def values(self) -> bytes:
        """All values of an array in a row, by one system call (kernel 5.6)."""
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
            if error.errno != errno.ENOENT:  # which says that the end was reached
                raise
        return values.raw

    def locked_bytes(self) -> int:
        """Memory that the kernel says it takes."""
        for line in Path(f"/proc/self/fdinfo/{self.fd}").read_text().splitlines():
            if line.startswith("memlock:"):
                return int(line.split()[1])
        return 0

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


def map_id(fd: int) -> int:
    """The kernel's id of a map."""
    return int(_info(fd, _MapInfo).id)


def map_by_id(map_id: int) -> Map:
    return Map.of(libbpf.call("bpf_map_get_fd_by_id", map_id))


@dataclass(frozen=True)
class ProgramInfo:
    id: int
    name: str
    type: int
    tag: str
    jited: bool
    loaded_at_ns: int
    """Nanoseconds since boot."""


def program_info(fd: int) -> ProgramInfo:
    info = _info(fd, _ProgInfo)
    return ProgramInfo(
        info.id,
        info.name.decode(errors="replace"),
        info.type,
        bytes(info.tag).hex(),
        bool(info.jited_prog_len),
        info.load_time,
    )


def program_map_ids(fd: int) -> list[int]:
    """Ids of the maps that a program uses."""
    count = _info(fd, _ProgInfo).nr_map_ids
    ids = (c_uint32 * count)()
    info = _ProgInfo(nr_map_ids=count, map_ids=ctypes.addressof(ids))
    size = c_uint32(ctypes.sizeof(info))
    libbpf.call("bpf_obj_get_info_by_fd", fd, ctypes.byref(info), ctypes.byref(size))
    return list(ids)


def program_by_id(program_id: int) -> ProgramInfo | None:
    """None if it is gone."""
    try:
        fd = libbpf.call("bpf_prog_get_fd_by_id", program_id)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        raise
    try:
        return program_info(fd)
    finally:
        os.close(fd)


@dataclass(frozen=True)
class LinkInfo:
    id: int
    type: int
    program_id: int
    ifindex: int
    """Of an XDP link; 0 once its interface is gone."""


def link_info(fd: int) -> LinkInfo:
    info = _info(fd, _LinkInfo)
    return LinkInfo(info.id, info.type, info.prog_id, info.ifindex)


def create_xdp_link(program_fd: int, ifindex: int, flags: int) -> int:
    """Attach by a link (kernel 5.9); the program goes with the last reference to it."""
    opts = _LinkCreateOpts(sz=ctypes.sizeof(_LinkCreateOpts), flags=flags)
    return libbpf.call("bpf_link_create", program_fd, ifindex, BPF_XDP, ctypes.byref(opts))


def detach_link(fd: int) -> None:
    libbpf.call("bpf_link_detach", fd)


def links() -> Iterator[tuple[int, LinkInfo]]:
    """Every link of the system, as (fd, info); the fd is closed when the caller goes on."""
    link_id = c_uint32(0)
    while True:
        try:
            libbpf.call("bpf_link_get_next_id", link_id.value, ctypes.byref(link_id))
            fd = libbpf.call("bpf_link_get_fd_by_id", link_id.value)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
            if _no_more(link_id.value):
                return
            continue
        try:
            yield fd, link_info(fd)
        finally:
            os.close(fd)


def _no_more(link_id: int) -> bool:
    """Whether ENOENT meant the end of the list, not a link that vanished just now."""
    try:
        libbpf.call("bpf_link_get_next_id", link_id, ctypes.byref(c_uint32()))
    except OSError:
        return True
    return False


def pin(fd: int, path: Path) -> None:
    libbpf.call("bpf_obj_pin", fd, os.fsencode(path))


def open_pin(path: Path) -> int:
    """A file descriptor for what is pinned there."""
    return libbpf.call("bpf_obj_get", os.fsencode(path))


def pinned_link(path: Path) -> LinkInfo:
    fd = open_pin(path)
    try:
        return link_info(fd)
    finally:
        os.close(fd)
