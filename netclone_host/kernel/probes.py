# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What this machine can do: each thing that NetClone needs is tried, not looked up."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from netclone_host.attach import pins
from netclone_host.attach.loaders.libbpf import OBJECT_DIR
from netclone_host.attach.roles import Role
from netclone_host.errors import NetcloneError
from netclone_host.kernel import headers, instructions, libbpf, maps, netns, objects
from netclone_host.kernel import privilege as privileges
from netclone_host.kernel.instructions import ProgramType
from netclone_host.kernel.testrun import XdpAction, prog_test_run
from netclone_host.kernel.xdp import XdpMode

_MIN_KERNEL = (6, 1)
_AF_XDP = 44
_BROADCAST = 1 << 3  # BPF_F_BROADCAST
_TRY = "nctry0"


class Missing(Exception):
    """What was tried did not work."""


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
class _Probe:
    name: str
    check: Callable[[], str]
    hint: str
    needed: bool = True


def examine() -> list[Finding]:
    """Try everything, in the order in which one thing depends on another."""
    return [_find(probe) for probe in _PROBES]


def _find(probe: _Probe) -> Finding:
    try:
        return Finding(probe.name, True, probe.needed, probe.check(), "")
    except PermissionError as error:
        return Finding(probe.name, False, probe.needed, str(error), "run it with sudo")
    except (Missing, NetcloneError, OSError, subprocess.SubprocessError) as error:
        return Finding(probe.name, False, probe.needed, str(error), probe.hint)


def _kernel() -> str:
    release = platform.release()
    numbers = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    if numbers < _MIN_KERNEL:
        raise Missing(f"Linux {release}")
    return f"Linux {release}"


def _privilege() -> str:
    if not privileges.may_attach():
        raise Missing("no CAP_BPF and CAP_NET_ADMIN")
    return "CAP_BPF, CAP_NET_ADMIN"


def _btf() -> str:
    path = Path("/sys/kernel/btf/vmlinux")
    if not path.exists():
        raise Missing(f"no {path}")
    return str(path)


def _bpffs() -> str:
    if not pins.is_mounted(pins.bpffs()):
        raise Missing(f"not mounted at {pins.bpffs()}")
    return str(pins.bpffs())


def _jit() -> str:
    fd = instructions.load(ProgramType.XDP, "nc_try", instructions.returning(XdpAction.PASS))
    try:
        if not objects.program_info(fd).jited:
            raise Missing("programs are interpreted")
    finally:
        os.close(fd)
    return "programs are compiled"


def _version(*words: str) -> str:
    if shutil.which(words[0]) is None:
        raise Missing(f"no {words[0]}")
    said = subprocess.run(words, check=True, capture_output=True, text=True, timeout=20)
    return said.stdout.splitlines()[0]


def _libbpf() -> str:
    return f"libbpf {libbpf.library().libbpf_version_string().decode()}"


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


def _headers() -> str:
    if headers.running_kernel_has_headers():
        return "of the running kernel"
    parts = headers.installed()
    if parts is None:
        raise Missing("none installed")
    return parts[0].name


@contextlib.contextmanager
def _throw_away_veth() -> Iterator[int]:
    """Index of a veth in a namespace that is gone afterwards."""
    from pyroute2 import IPRoute

    with netns.throw_away():
        with IPRoute() as route:
            route.link("add", ifname=_TRY, kind="veth", peer={"ifname": f"{_TRY}p"})
        yield socket.if_nametoindex(_TRY)


def _native_xdp() -> str:
    with _throw_away_veth() as ifindex:
        fd = instructions.load(ProgramType.XDP, "nc_try", instructions.returning(XdpAction.PASS))
        try:
            os.close(objects.create_xdp_link(fd, ifindex, XdpMode.NATIVE.flag))
        finally:
            os.close(fd)
    return "on a veth, by a link"


def _devmap_program() -> str:
    with _throw_away_veth() as ifindex:
        code = instructions.returning(XdpAction.PASS)
        fd = instructions.load(ProgramType.XDP, "nc_try", code, objects.BPF_XDP_DEVMAP)
        devmap = _devmap()
        try:
            devmap.update(0, maps.DevmapValue(ifindex, fd))
        finally:
            os.close(devmap.fd)
            os.close(fd)
    return "an entry of a devmap runs a program"


def _devmap() -> maps.Map:
    return maps.create_devmap("nc_try", 2)


def _broadcast() -> str:
    devmap = _devmap()
    fd = -1
    try:
        code = instructions.redirecting(devmap.fd, 0, _BROADCAST)
        fd = instructions.load(ProgramType.XDP, "nc_try", code)
        if prog_test_run(fd, bytes(64)).retval != XdpAction.REDIRECT:
            raise Missing("the kernel does not know BPF_F_BROADCAST")
    finally:
        os.close(devmap.fd)
        if fd >= 0:
            os.close(fd)
    return "one packet to all entries of a devmap"


def _tc() -> str:
    from netclone_host.kernel import tc

    with _throw_away_veth() as ifindex:
        fd = instructions.load(ProgramType.SCHED_CLS, "nc_try", instructions.returning(0))
        try:
            tc.add_clsact(ifindex)
            tc.add_filter(ifindex, fd, "nc_try", 1)
        finally:
            os.close(fd)
    return "clsact with a BPF filter on a veth"


def _af_xdp() -> str:
    with socket.socket(_AF_XDP, socket.SOCK_RAW):
        return "sockets of the family AF_XDP"


_PROBES = (
    _Probe("kernel", _kernel, "NetClone needs Linux 6.1 or newer"),
    _Probe("privilege", _privilege, "run it with sudo"),
    _Probe("BTF", _btf, "a kernel with CONFIG_DEBUG_INFO_BTF"),
    _Probe("bpffs", _bpffs, "mount -t bpf bpf /sys/fs/bpf"),
    _Probe("libbpf", _libbpf, "apt install libbpf1"),
    _Probe("objects", _objects, "make setup"),
    _Probe("JIT", _jit, "sysctl net.core.bpf_jit_enable=1"),
    _Probe("native XDP", _native_xdp, "a kernel with veth and BPF links; else --mode generic"),
    _Probe("devmap program", _devmap_program, "a kernel of 5.8 or newer"),
    _Probe("broadcast", _broadcast, "a kernel of 5.14 or newer"),
    _Probe("tc", _tc, "a kernel with CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_BPF"),
    _Probe("AF_XDP", _af_xdp, "a kernel with CONFIG_XDP_SOCKETS", needed=False),
    _Probe("clang", lambda: _version("clang", "--version"), "apt install clang", needed=False),
    _Probe("bpftool", lambda: _version("bpftool", "version"), "apt install bpftool", needed=False),
    _Probe("BCC", _bcc, "apt install python3-bpfcc (for --loader bcc)", needed=False),
    _Probe(
        "kernel headers",
        _headers,
        "apt install linux-headers-$(dpkg --print-architecture) (for --loader bcc)",
        needed=False,
    ),
)
