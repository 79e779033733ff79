# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The two loaders: libbpf (default) and BCC, each imported only if it is chosen."""

from __future__ import annotations

import importlib.util

from netclone_host.attach.loaders.base import Loader
from netclone_host.errors import MissingFeatureError, UserError

NAMES = ("auto", "libbpf", "bcc")


def loader_of(name: str) -> Loader:
    """`auto` is libbpf, or BCC where libbpf is not installed. UserError for other names,
    MissingFeatureError where the library is not there."""
    if name not in NAMES:
        raise UserError(f"there is no loader {name}", hint=f"loaders are {', '.join(NAMES)}")
    if name == "libbpf" or (name == "auto" and _has_libbpf()):
        from netclone_host.attach.loaders.libbpf import LibbpfLoader

        return LibbpfLoader()
    if not has_bcc():
        raise MissingFeatureError(
            "the BCC loader needs Debian's python3-bpfcc",
            hint="apt install python3-bpfcc (PyPI's bcc is something else)",
        )
    from netclone_host.attach.loaders.bcc import BccLoader

    return BccLoader()


def has_bcc() -> bool:
    """Whether BCC's Python module is there; it may still lack kernel headers."""
    return importlib.util.find_spec("bcc") is not None


def _has_libbpf() -> bool:
    from netclone_host.kernel import libbpf

    try:
        libbpf.library()
    except MissingFeatureError:
        return False
    return True
