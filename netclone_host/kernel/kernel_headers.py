# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernel headers for BCC.

BCC looks for the headers of the running kernel. Where there are none, those of any other
will do for these programs: Debian splits them into two packages, which are put together
here as one tree of links.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from netclone_host.errors import MissingFeatureError

SOURCES = Path("/usr/src")
_COMMON = re.compile(r"^include\s+(/\S+)/Makefile", re.MULTILINE)


def running_kernel_has_headers() -> bool:
    return Path(f"/lib/modules/{platform.release()}/build").exists()


def installed() -> tuple[Path, Path] | None:
    """(of the architecture, common) of the newest installed linux-headers-*, if any."""
    found: list[tuple[float, Path, Path]] = []
    for makefile in SOURCES.glob("linux-headers-*/Makefile"):
        match = _COMMON.search(makefile.read_text(errors="replace"))
        if match and Path(match[1]).is_dir():
            found.append((makefile.stat().st_mtime, makefile.parent, Path(match[1])))
    return max(found)[1:] if found else None


def source_tree(cache: Path) -> Path | None:
    """What BCC_KERNEL_SOURCE has to be; None if BCC finds the headers by itself. A tree that has
    to be put together for that is kept in `cache`.

    MissingFeatureError if there are none at all.
    """
    if "BCC_KERNEL_SOURCE" in os.environ or running_kernel_has_headers():
        return None
    parts = installed()
    if parts is None:
        raise MissingFeatureError(
            "BCC needs kernel headers, and none are installed",
            hint="apt install linux-headers-$(dpkg --print-architecture), or --loader libbpf",
        )
    tree = cache / parts[0].name
    if not tree.exists():
        _build(tree, parts)
    return tree


def _build(tree: Path, parts: tuple[Path, Path]) -> None:
    """Aside first, then renamed: a tree that is there is whole."""
    aside = tree.with_name(f".{tree.name}-{os.getpid()}")
    for part in parts:
        for name in ("include", "arch"):
            if (part / name).is_dir():
                merge(part / name, aside / name)
    try:
        aside.rename(tree)
    except OSError:
        if not tree.exists():
            raise


def merge(source: Path, target: Path) -> None:
    """Link everything of `source` into `target`; a directory that both have is opened up."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
        return
    if not (target.is_dir() and source.is_dir()):
        return  # the first part wins
    if target.is_symlink():
        linked = target.resolve()
        target.unlink()
        target.mkdir()
        for entry in linked.iterdir():
            (target / entry.name).symlink_to(entry)
    for entry in source.iterdir():
        merge(entry, target / entry.name)
