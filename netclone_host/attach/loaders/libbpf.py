# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The default loader: objects compiled at set-up, relocated by libbpf."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from netclone_host import system_errors
from netclone_host.attach.loaders.base import LoadedObject, MapSizes
from netclone_host.attach.roles import Role
from netclone_host.attach.tables import MapName
from netclone_host.errors import MissingFeatureError, PrivilegeError, UserError, VerifierError
from netclone_host.kernel import libbpf, maps, verifier_log
from netclone_host.kernel.maps import Map, MapType

OBJECT_DIR = Path(__file__).resolve().parents[3] / "build/bpf"


class LibbpfLoader:
    name = "libbpf"

    def load(self, role: Role, sizes: MapSizes) -> LoadedObject:
        return load_object(OBJECT_DIR / f"{role}.bpf.o", sizes)


def load_object(path: Path, sizes: MapSizes | None = None) -> LoadedObject:
    """Load all programs and maps of an object file, the maps in the sizes given."""
    with libbpf.log.captured() as messages, _opened(path, messages) as handle:
        return _load(handle, path, sizes or {}, messages)


def map_names(role: Role) -> list[str]:
    """The maps of a role's object, read without loading it."""
    path = OBJECT_DIR / f"{role}.bpf.o"
    with libbpf.log.captured() as messages, _opened(path, messages) as handle:
        return [libbpf.library().bpf_map__name(entry).decode() for entry in _maps(handle)]


@contextlib.contextmanager
def _opened(path: Path, messages: list[str]) -> Iterator[int]:
    """libbpf's handle of an object file."""
    if not path.exists():
        raise UserError(f"there is no compiled object {path}", hint="run 'make setup'")
    try:
        handle = libbpf.call_pointer("bpf_object__open_file", os.fsencode(path), None)
        assert handle is not None
    except OSError as error:
        raise MissingFeatureError(
            f"{path} is not a BPF object that libbpf can read: {error.strerror}",
            hint=messages[-1] if messages else "run 'make clean setup'",
        ) from None
    try:
        yield handle
    finally:
        libbpf.library().bpf_object__close(handle)


def _load(handle: int, path: Path, sizes: MapSizes, messages: list[str]) -> LoadedObject:
    _resize(handle, sizes)
    templates = [template for entry in _maps(handle) if (template := _inner_map(entry))]
    try:
        libbpf.call("bpf_object__load", handle)
    except OSError as error:
        raise load_error(error, path.name, messages) from None
    finally:
        for template in templates:
            os.close(template.fd)
    library = libbpf.library()
    return LoadedObject(
        {
            library.bpf_program__name(program).decode(): os.dup(library.bpf_program__fd(program))
            for program in _each(handle, "bpf_object__next_program")
        },
        {
            library.bpf_map__name(entry).decode(): Map.of(os.dup(library.bpf_map__fd(entry)))
            for entry in _maps(handle)
        },
    )


def _each(handle: int, step: str) -> Iterator[int]:
    current = libbpf.call_pointer(step, handle, None)
    while current is not None:
        yield current
        current = libbpf.call_pointer(step, handle, current)


def _maps(handle: int) -> Iterator[int]:
    return _each(handle, "bpf_object__next_map")


def _resize(handle: int, sizes: MapSizes) -> None:
    for entry in _maps(handle):
        size = sizes.get(libbpf.library().bpf_map__name(entry).decode())
        if size is not None:
            libbpf.call("bpf_map__set_max_entries", entry, size)


def _inner_map(entry: int) -> Map | None:
    """The template that an array of devmaps needs, if its source declares none."""
    library = libbpf.library()
    if library.bpf_map__type(entry) != MapType.ARRAY_OF_MAPS or library.bpf_map__inner_map(entry):
        return None
    template = maps.create_devmap(MapName.PAIR_PORTS, 2)
    libbpf.call("bpf_map__set_inner_map_fd", entry, template.fd)
    return template


def load_error(error: OSError, what: str, messages: list[str]) -> UserError:
    """The kernel's refusal to load, with its own sentence for each reason."""
    if error.errno == errno.EPERM:
        return PrivilegeError(
            "loading a BPF program needs root (CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON)",
            hint="run it with sudo",
        )
    log = verifier_log.from_libbpf(messages)
    if log:
        return VerifierError(
            f"the kernel's verifier refused a program of {what}",
            hint=verifier_log.line_that_matters(log),
        )
    reasons = [line.removeprefix("libbpf: ").strip() for line in messages if "failed" in line]
    return MissingFeatureError(
        f"the kernel would not load {what}: {os.strerror(error.errno or 0)}",
        hint=system_errors.hint_for(error)
        or (reasons[0] if reasons else "'netclone-host doctor' shows what the kernel lacks"),
    )
