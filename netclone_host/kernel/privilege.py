# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the calling process may do."""

from __future__ import annotations

from pathlib import Path

from netclone_host.errors import PrivilegeError

_CAP_NET_ADMIN, _CAP_SYS_ADMIN, _CAP_BPF = 12, 21, 39


def effective_capabilities() -> int:
    for line in Path("/proc/thread-self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def may_attach() -> bool:
    caps = effective_capabilities()
    bpf = caps >> _CAP_BPF & 1 or caps >> _CAP_SYS_ADMIN & 1
    return bool(bpf and caps >> _CAP_NET_ADMIN & 1)


def require() -> None:
    if not may_attach():
        raise PrivilegeError(
            "attaching and detaching need root (CAP_BPF and CAP_NET_ADMIN)", hint="run it with sudo"
        )
