# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BPF objects of the kernel: programs, links and pins, by file descriptor (maps: `maps`).

Every function raises OSError with the kernel's errno; callers turn that into a sentence.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import errno
import os
import stat
from collections.abc import Iterator
from ctypes import c_char, c_uint8, c_uint32, c_uint64
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from netclone_host.kernel import libbpf

NAME_LEN = 16
_BPF_FS_MAGIC = 0xCAFE4A11
_libc = ctypes.CDLL(None, use_errno=True)
BPF_XDP_DEVMAP, BPF_XDP = 33, 37  # enum bpf_attach_type


class LinkType(enum.IntEnum):
    XDP = 6
    TCX = 11


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
    """struct bpf_link_info of an XDP or tcx link; the union is padded to its size."""

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


def fd_info(fd: int) -> dict[str, str]:
    """/proc/self/fdinfo of a file descriptor: a map has a `map_id`, a link a `link_id`."""
    lines = Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def object_info(fd: int, kind: type[_Info]) -> _Info:
    """BPF_OBJ_GET_INFO_BY_FD into a structure of this kind."""
    info = kind()
    size = c_uint32(ctypes.sizeof(info))
    libbpf.call("bpf_obj_get_info_by_fd", fd, ctypes.byref(info), ctypes.byref(size))
    return info


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
    info = object_info(fd, _ProgInfo)
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
    count = object_info(fd, _ProgInfo).nr_map_ids
    ids = (c_uint32 * count)()
    info = _ProgInfo(nr_map_ids=count, map_ids=ctypes.addressof(ids))
    size = c_uint32(ctypes.sizeof(info))
    libbpf.call("bpf_obj_get_info_by_fd", fd, ctypes.byref(info), ctypes.byref(size))
    return list(ids)


def map_ids_of_program(program_id: int) -> list[int]:
    """Ids of the maps that the program of this id uses; none if it is gone."""
    with _program(program_id) as fd:
        return [] if fd is None else program_map_ids(fd)


def program_by_id(program_id: int) -> ProgramInfo | None:
    """None if it is gone."""
    with _program(program_id) as fd:
        return None if fd is None else program_info(fd)


@contextlib.contextmanager
def _program(program_id: int) -> Iterator[int | None]:
    """A file descriptor of the program; None if it is gone."""
    try:
        fd = libbpf.call("bpf_prog_get_fd_by_id", program_id)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


@dataclass(frozen=True)
class LinkInfo:
    id: int
    type: int
    program_id: int
    ifindex: int
    """0 once its interface is gone."""


def link_info(fd: int) -> LinkInfo:
    info = object_info(fd, _LinkInfo)
    return LinkInfo(info.id, info.type, info.prog_id, info.ifindex)


def create_xdp_link(program_fd: int, ifindex: int, flags: int) -> int:
    """Attach by a link (kernel 5.9)."""
    return create_link(program_fd, ifindex, BPF_XDP, flags)


def create_link(program_fd: int, ifindex: int, attach_type: int, flags: int) -> int:
    """The program goes with the last reference to the link."""
    opts = _LinkCreateOpts(sz=ctypes.sizeof(_LinkCreateOpts), flags=flags)
    return libbpf.call("bpf_link_create", program_fd, ifindex, attach_type, ctypes.byref(opts))


def detach_link(fd: int) -> None:
    libbpf.call("bpf_link_detach", fd)


def links() -> Iterator[tuple[int, LinkInfo]]:
    """Every link of the system, as (fd, info); the fd is valid until the next step."""
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
    """Whether ENOENT meant the end of the list, not a link that has just vanished."""
    try:
        libbpf.call("bpf_link_get_next_id", link_id, ctypes.byref(c_uint32()))
    except OSError:
        return True
    return False


def is_bpffs(path: Path) -> bool:
    """Whether a BPF file system is mounted there (statfs f_type)."""
    buffer = ctypes.create_string_buffer(256)
    if _libc.statfs(os.fsencode(path), buffer) < 0:
        return False
    return int.from_bytes(buffer.raw[: ctypes.sizeof(ctypes.c_long)], "little") == _BPF_FS_MAGIC


@contextlib.contextmanager
def _at(path: Path) -> Iterator[None]:
    """Errors inside name the path."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def pin(fd: int, path: Path) -> None:
    with _at(path):
        libbpf.call("bpf_obj_pin", fd, os.fsencode(path))


def open_pin(path: Path) -> int:
    """A file descriptor for what is pinned there. FileNotFoundError also for what cannot be a pin:
    a directory, or a symbolic link out of the BPF file system."""
    with _at(path):
        try:
            return libbpf.call("bpf_obj_get", os.fsencode(path))
        except PermissionError:
            if stat.S_ISREG(path.lstat().st_mode):
                raise
            raise FileNotFoundError(errno.ENOENT, "nothing is pinned there") from None


@contextlib.contextmanager
def opened_link(path: Path, kind: LinkType) -> Iterator[tuple[int, LinkInfo]]:
    """The link of this kind that is pinned there, and a file descriptor for it. FileNotFoundError
    if there is none, also where something else has its name."""
    missing = FileNotFoundError(errno.ENOENT, f"no {kind.name} link is pinned there", str(path))
    fd = open_pin(path)
    try:
        # Other objects have information of another kind.
        if "link_id" not in fd_info(fd):
            raise missing
        info = link_info(fd)
        if info.type != kind:
            raise missing
        yield fd, info
    finally:
        os.close(fd)


def pinned_link(path: Path, kind: LinkType) -> LinkInfo:
    with opened_link(path, kind) as (_, info):
        return info
