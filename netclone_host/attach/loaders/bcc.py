# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The second loader: BCC compiles the same C text at attach.

BCC rewrites table methods only in its main file, so it gets one flat text in which the
project's own headers stand where they were included.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netclone_host.attach.loaders.base import LoadedObject, MapSizes
from netclone_host.attach.loaders.libbpf import OBJECT_DIR
from netclone_host.attach.roles import PROGRAMS, Role
from netclone_host.attach.tables import MapName
from netclone_host.errors import MissingFeatureError, PrivilegeError, UserError, VerifierError
from netclone_host.kernel import kernel_headers, libbpf, verifier_log
from netclone_host.kernel.maps import Map
from netclone_host.kernel.objects import BPF_XDP_DEVMAP

_HEADER_TREES = OBJECT_DIR.parent / "kernel-headers"
SOURCE_DIR = Path(__file__).resolve().parents[3] / "xdp"
_INCLUDE = re.compile(r'^\s*#include\s+"(?P<name>[^"]+)"', re.MULTILINE)
# max_entries of a map -> the macro of targets/bcc.h that sets it.
_SIZE_MACROS = {
    MapName.GROUPS: "NC_GROUP_ENTRIES",
    MapName.FILTER: "NC_FILTER_ENTRIES",
    MapName.PORTS: "NC_PORT_ENTRIES",
}
_TEMPLATES = (MapName.PAIR_PORTS,)  # a mere template for the values of nc_clone_ports


class BccLoader:
    name = "bcc"

    def load(self, role: Role, sizes: MapSizes) -> LoadedObject:
        """Takes a few seconds. BCC closes its file descriptors with the module, so they are
        duplicated."""
        tree = kernel_headers.source_tree(_HEADER_TREES)
        if tree is not None:
            os.environ["BCC_KERNEL_SOURCE"] = str(tree)
        from bcc import BPF  # Debian's python3-bpfcc

        flags = ["-DNC_TARGET_BCC"] + [
            f"-D{macro}={sizes[name]}" for name, macro in _SIZE_MACROS.items() if name in sizes
        ]
        with _stderr_taken() as said:
            try:
                text = flat_text(SOURCE_DIR / f"{role}.bpf.c")
                module = BPF(text=text.encode(), cflags=flags)
                programs = _load_programs(module, BPF, role)
            except Exception as error:
                raise _load_error(error, role, said()) from error
        try:
            return LoadedObject({name: os.dup(fd) for name, fd in programs.items()}, _maps(module))
        finally:
            module.cleanup()


def flat_text(path: Path, outer: tuple[Path, ...] = ()) -> str:
    """A source with every `#include "..."` replaced by what it names."""
    if path in outer:
        return ""

    def included(match: re.Match[str]) -> str:
        for directory in (path.parent, SOURCE_DIR / "include", SOURCE_DIR):
            candidate = (directory / match["name"]).resolve()
            if candidate.exists():
                return flat_text(candidate, (*outer, path))
        raise UserError(f"{path.name} includes {match['name']}, which is not there", hint="")

    return _INCLUDE.sub(included, path.read_text())


def _load_programs(module: Any, bpf: Any, role: Role) -> dict[str, int]:
    def load(name: str, kind: int, attach_type: int = -1) -> int:
        fd: int = module.load_func(name.encode(), kind, attach_type=attach_type).fd
        return fd

    names = PROGRAMS[role]
    programs = {names.xdp: load(names.xdp, bpf.XDP)}
    if names.tc:
        programs[names.tc] = load(names.tc, bpf.SCHED_CLS)
    if names.devmap:
        programs[names.devmap] = load(names.devmap, bpf.XDP, BPF_XDP_DEVMAP)
    return programs


def _maps(module: Any) -> dict[str, Map]:
    from bcc.libbcc import lib

    lib.bpf_table_name.restype = ctypes.c_char_p
    maps: dict[str, Map] = {}
    for position in range(lib.bpf_num_tables(module.module)):
        name = lib.bpf_table_name(module.module, position).decode()
        if name not in _TEMPLATES:
            maps[name] = Map.of(os.dup(lib.bpf_table_fd_id(module.module, position)))
    return maps


@contextlib.contextmanager
def _stderr_taken() -> Iterator[Any]:
    """Compiler and verifier write to file descriptor 2; yields a function that returns what
    they have said so far. With -v that is shown, too."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def said() -> list[str]:
            file.seek(0)
            return file.read().decode(errors="replace").splitlines()

        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            if libbpf.log.verbose:
                print("\n".join(said()), file=sys.stderr)


def _load_error(error: Exception, role: Role, said: list[str]) -> UserError:
    compiler = next((line for line in said if " error: " in line), "")
    if compiler:
        return MissingFeatureError(
            f"BCC could not compile {role}.bpf.c", hint=compiler.split(" error: ", 1)[1]
        )
    if getattr(error, "errno", None) == errno.EPERM or "Operation not permitted" in str(error):
        return PrivilegeError("loading a BPF program needs root", hint="run it with sudo")
    return VerifierError(
        f"the kernel's verifier refused a program of {role}.bpf.c, as BCC compiled it",
        hint=verifier_log.line_that_matters(said) or str(error),
    )
