# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What NetClone needs of this machine, each tried, with a hint for what is missing."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from netclone_host.attach import pins, vlan_tags
from netclone_host.attach.loaders.libbpf import OBJECT_DIR
from netclone_host.attach.roles import Role
from netclone_host.errors import NetcloneError
from netclone_host.kernel import probes
from netclone_host.kernel.probes import Missing


@dataclass(frozen=True)
class Finding:
    name: str
    ok: bool
    needed: bool
    """False: something works without it."""
    detail: str
    """What was found, or what went wrong."""
    hint: str
    """What to do; empty if it is there."""


@dataclass(frozen=True)
class _Requirement:
    name: str
    probe: Callable[[], str]
    hint: str
    needed: bool = True


def examine() -> list[Finding]:
    """Try everything, in the order in which one thing depends on another."""
    return [_find(requirement) for requirement in _REQUIREMENTS]


def _find(wanted: _Requirement) -> Finding:
    try:
        return Finding(wanted.name, True, wanted.needed, wanted.probe(), "")
    except PermissionError as error:
        return Finding(wanted.name, False, wanted.needed, str(error), "run it with sudo")
    except (Missing, NetcloneError, OSError, subprocess.SubprocessError) as error:
        return Finding(wanted.name, False, wanted.needed, str(error), wanted.hint)


def _objects() -> str:
    missing = [role.value for role in Role if not (OBJECT_DIR / f"{role}.bpf.o").exists()]
    if missing:
        raise Missing(f"not built: {', '.join(missing)}")
    return "server, client, switch"


def _bcc() -> str:
    if importlib.util.find_spec("bcc") is None:
        raise Missing("no module bcc")
    from bcc import __version__

    return f"BCC {__version__}"


def _vlan_tags() -> str:
    seen_to, lost = vlan_tags.survey()
    if lost:
        raise Missing(f"a native switch would lose them at {', '.join(lost)}")
    if seen_to:
        return f"attaching a switch switches tag offloads off at {', '.join(seen_to)}"
    return "no interface takes them off frames"


_REQUIREMENTS = (
    _Requirement(
        "kernel", lambda: probes.release_at_least(6, 1), "NetClone needs Linux 6.1 or newer"
    ),
    _Requirement("privilege", probes.capabilities, "run it with sudo"),
    _Requirement("BTF", probes.btf, "a kernel with CONFIG_DEBUG_INFO_BTF"),
    _Requirement("bpffs", lambda: probes.bpffs(pins.bpffs()), "mount -t bpf bpf /sys/fs/bpf"),
    _Requirement("libbpf", probes.libbpf_version, "apt install libbpf1"),
    _Requirement("objects", _objects, "make setup"),
    _Requirement("JIT", probes.jit, "sysctl net.core.bpf_jit_enable=1"),
    _Requirement(
        "native XDP", probes.native_xdp, "a kernel with veth and BPF links; else --mode generic"
    ),
    _Requirement("devmap program", probes.devmap_program, "a kernel of 5.8 or newer"),
    _Requirement("broadcast", probes.broadcast, "a kernel of 5.14 or newer"),
    _Requirement(
        "tc", probes.egress_program, "a kernel with CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_BPF"
    ),
    _Requirement("VLAN tags", _vlan_tags, "--mode generic for a switch", needed=False),
    _Requirement("AF_XDP", probes.af_xdp, "a kernel with CONFIG_XDP_SOCKETS", needed=False),
    _Requirement(
        "clang",
        lambda: probes.version_of("clang", "--version"),
        "apt install clang",
        needed=False,
    ),
    _Requirement(
        "bpftool",
        lambda: probes.version_of("bpftool", "version"),
        "apt install bpftool",
        needed=False,
    ),
    _Requirement("BCC", _bcc, "apt install python3-bpfcc (for --loader bcc)", needed=False),
    _Requirement(
        "kernel headers",
        probes.headers,
        "apt install linux-headers-$(dpkg --print-architecture) (for --loader bcc)",
        needed=False,
    ),
)
