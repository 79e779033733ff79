# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""libbpf.so.1 by ctypes: the handle, its log, its errors. Everything else calls it through
:func:`call`.

libbpf prints to standard error by default. Here its messages go to whoever captures them,
and to standard error only when verbose.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

from netclone_host.errors import MissingFeatureError

SONAME = "libbpf.so.1"

_PRINT_FN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_LINE_LIMIT = 1 << 16

# Functions that return a pointer, or take one where ctypes would guess int.
_PTR = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "libbpf_version_string": (ctypes.c_char_p, []),
    "bpf_object__open_file": (_PTR, [ctypes.c_char_p, _PTR]),
    "bpf_object__load": (ctypes.c_int, [_PTR]),
    "bpf_object__close": (None, [_PTR]),
    "bpf_object__next_map": (_PTR, [_PTR, _PTR]),
    "bpf_object__next_program": (_PTR, [_PTR, _PTR]),
    "bpf_map__name": (ctypes.c_char_p, [_PTR]),
    "bpf_map__fd": (ctypes.c_int, [_PTR]),
    "bpf_map__type": (ctypes.c_int, [_PTR]),
    "bpf_map__max_entries": (ctypes.c_uint32, [_PTR]),
    "bpf_map__set_max_entries": (ctypes.c_int, [_PTR, ctypes.c_uint32]),
    "bpf_map__inner_map": (_PTR, [_PTR]),
    "bpf_map__set_inner_map_fd": (ctypes.c_int, [_PTR, ctypes.c_int]),
    "bpf_program__name": (ctypes.c_char_p, [_PTR]),
    "bpf_program__fd": (ctypes.c_int, [_PTR]),
    "bpf_program__set_log_buf": (ctypes.c_int, [_PTR, _PTR, ctypes.c_size_t]),
    "bpf_prog_load": (
        ctypes.c_int,
        [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, _PTR, ctypes.c_size_t, _PTR],
    ),
    "bpf_map_create": (
        ctypes.c_int,
        [ctypes.c_int, ctypes.c_char_p, *[ctypes.c_uint32] * 3, _PTR],
    ),
    "bpf_map_update_elem": (ctypes.c_int, [ctypes.c_int, _PTR, _PTR, ctypes.c_uint64]),
    "bpf_map_update_batch": (ctypes.c_int, [ctypes.c_int, *[_PTR] * 4]),
    "bpf_map_lookup_batch": (ctypes.c_int, [ctypes.c_int, *[_PTR] * 6]),
    "bpf_map_lookup_elem": (ctypes.c_int, [ctypes.c_int, _PTR, _PTR]),
    "bpf_map_delete_elem": (ctypes.c_int, [ctypes.c_int, _PTR]),
    "bpf_map_get_next_key": (ctypes.c_int, [ctypes.c_int, _PTR, _PTR]),
    "bpf_map_get_fd_by_id": (ctypes.c_int, [ctypes.c_uint32]),
    "bpf_prog_get_fd_by_id": (ctypes.c_int, [ctypes.c_uint32]),
    "bpf_link_get_fd_by_id": (ctypes.c_int, [ctypes.c_uint32]),
    "bpf_link_get_next_id": (ctypes.c_int, [ctypes.c_uint32, _PTR]),
    "bpf_obj_get_info_by_fd": (ctypes.c_int, [ctypes.c_int, _PTR, _PTR]),
    "bpf_obj_pin": (ctypes.c_int, [ctypes.c_int, ctypes.c_char_p]),
    "bpf_obj_get": (ctypes.c_int, [ctypes.c_char_p]),
    "bpf_prog_query": (
        ctypes.c_int,
        [ctypes.c_int, ctypes.c_int, ctypes.c_uint32, *[_PTR] * 3],
    ),
    "bpf_link_create": (ctypes.c_int, [*[ctypes.c_int] * 3, _PTR]),
    "bpf_link_detach": (ctypes.c_int, [ctypes.c_int]),
    "bpf_xdp_attach": (ctypes.c_int, [ctypes.c_int, ctypes.c_int, ctypes.c_uint32, _PTR]),
    "bpf_xdp_detach": (ctypes.c_int, [ctypes.c_int, ctypes.c_uint32, _PTR]),
    "bpf_xdp_query": (ctypes.c_int, [ctypes.c_int, ctypes.c_int, _PTR]),
    "bpf_tc_query": (ctypes.c_int, [_PTR, _PTR]),
    "bpf_prog_test_run_opts": (ctypes.c_int, [ctypes.c_int, _PTR]),
    "libbpf_num_possible_cpus": (ctypes.c_int, []),
}


class _Log:
    """Receives libbpf's messages. Captures are per thread: libbpf prints in its caller's."""

    def __init__(self) -> None:
        self.verbose = False
        self._local = threading.local()
        self._libc = ctypes.CDLL(None)
        # A va_list is passed as a pointer on every 64-bit ABI that Linux runs on.
        self._libc.vsnprintf.argtypes = [_PTR, ctypes.c_size_t, ctypes.c_char_p, _PTR]
        self.callback = _PRINT_FN(self._print)

    def _print(self, level: int, template: bytes, va_list: int) -> int:
        buffer = ctypes.create_string_buffer(_LINE_LIMIT)
        self._libc.vsnprintf(buffer, _LINE_LIMIT, template, va_list)
        line = buffer.value.decode(errors="replace").rstrip("\n")
        lines = getattr(self._local, "lines", None)
        if lines is not None:
            lines.append(line)
        if self.verbose:
            print(line, file=sys.stderr)
        return 0

    @contextlib.contextmanager
    def captured(self) -> Iterator[list[str]]:
        # In a process that has used BCC, BCC has installed its own printer.
        library().libbpf_set_print(self.callback)
        outer = getattr(self._local, "lines", None)
        lines: list[str] = []
        self._local.lines = lines
        try:
            yield lines
        finally:
            self._local.lines = outer


log = _Log()


@functools.cache
def library() -> Any:
    """The loaded library. MissingFeatureError where it is not installed."""
    try:
        handle = ctypes.CDLL(SONAME, use_errno=True)
    except OSError:
        raise MissingFeatureError(
            f"{SONAME} is not installed", hint="apt install libbpf1 (or run 'make setup')"
        ) from None
    for name, (restype, argtypes) in _SIGNATURES.items():
        function = getattr(handle, name)
        function.restype, function.argtypes = restype, argtypes
    handle.libbpf_set_print.argtypes = [_PRINT_FN]
    handle.libbpf_set_print.restype = _PTR
    handle.libbpf_set_print(log.callback)  # silent from the start
    return handle


def call(name: str, *args: Any) -> int:
    """Call a function that returns an int; OSError with its errno when that is negative."""
    result: int = getattr(library(), name)(*args)
    if result < 0:
        raise OSError(-result, f"{name}: {os.strerror(-result)}")
    return result


def call_pointer(name: str, *args: Any) -> int | None:
    """Call a function that returns a pointer; OSError with its errno when that is NULL
    and errno is set."""
    ctypes.set_errno(0)
    result: int | None = getattr(library(), name)(*args)
    if result is None and (code := ctypes.get_errno()):
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


@functools.cache
def possible_cpus() -> int:
    """CPUs that a per-CPU map has a value for."""
    return call("libbpf_num_possible_cpus")
