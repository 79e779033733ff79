# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What this kernel can do: each thing is tried, not looked up.

A probe returns what it found, in a few words, and raises `Missing`, or the error that it met,
where the thing is not to be had. Nothing stays behind.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from netclone_host.kernel import (
    kernel_headers,
    libbpf,
    maps,
    netns,
    objects,
    privilege,
    tcx,
    tiny_programs,
)
from netclone_host.kernel.maps import DevmapValue
from netclone_host.kernel.testrun import XdpAction, prog_test_run
from netclone_host.kernel.tiny_programs import ProgramType
from netclone_host.kernel.xdp import XdpMode

_AF_XDP = 44
_BROADCAST = 1 << 3  # BPF_F_BROADCAST
_TRY_LINK, _TRY = "nctry0", "nc_try"


class Missing(Exception):
    """What was tried did not work."""


def release_at_least(*wanted: int) -> str:
    release = platform.release()
    numbers = tuple(int(part) for part in re.findall(r"\d+", release)[: len(wanted)])
    if numbers < wanted:
        raise Missing(f"Linux {release}")
    return f"Linux {release}"


def capabilities() -> str:
    if not privilege.may_attach():
        raise Missing("no CAP_BPF and CAP_NET_ADMIN")
    return "CAP_BPF, CAP_NET_ADMIN"


def btf() -> str:
    path = Path("/sys/kernel/btf/vmlinux")
    if not path.exists():
        raise Missing(f"no {path}")
    return str(path)


def bpffs(path: Path) -> str:
    if not objects.is_bpffs(path):
        raise Missing(f"not mounted at {path}")
    return str(path)


def version_of(*command: str) -> str:
    """The first line that a program says of itself."""
    if shutil.which(command[0]) is None:
        raise Missing(f"no {command[0]}")
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)
    return said.stdout.splitlines()[0]


def libbpf_version() -> str:
    return f"libbpf {libbpf.library().libbpf_version_string().decode()}"


def headers() -> str:
    if kernel_headers.running_kernel_has_headers():
        return "of the running kernel"
    parts = kernel_headers.installed()
    if parts is None:
        raise Missing("none installed")
    return parts[0].name


@contextlib.contextmanager
def _loaded(kind: ProgramType, code: bytes, attach_type: int = 0) -> Iterator[int]:
    fd = tiny_programs.load(kind, _TRY, code, attach_type)
    try:
        yield fd
    finally:
        os.close(fd)


def _passing(attach_type: int = 0) -> contextlib.AbstractContextManager[int]:
    return _loaded(ProgramType.XDP, tiny_programs.returning(XdpAction.PASS), attach_type)


@contextlib.contextmanager
def _throw_away_veth() -> Iterator[int]:
    """Index of a veth in a namespace that is gone afterwards."""
    from pyroute2 import IPRoute

    with netns.throw_away():
        with IPRoute() as route:
            route.link("add", ifname=_TRY_LINK, kind="veth", peer={"ifname": f"{_TRY_LINK}p"})
        yield socket.if_nametoindex(_TRY_LINK)


@contextlib.contextmanager
def _devmap() -> Iterator[maps.Map]:
    devmap = maps.create_devmap(_TRY, 2)
    try:
        yield devmap
    finally:
        os.close(devmap.fd)


def jit() -> str:
    with _passing() as fd:
        if not objects.program_info(fd).jited:
            raise Missing("programs are interpreted")
    return "programs are compiled"


def native_xdp() -> str:
    with _throw_away_veth() as ifindex, _passing() as fd:
        os.close(objects.create_xdp_link(fd, ifindex, XdpMode.NATIVE.flag))
    return "on a veth, by a link"


def devmap_program() -> str:
    with _throw_away_veth() as ifindex, _passing(objects.BPF_XDP_DEVMAP) as fd, _devmap() as devmap:
        devmap.update(0, DevmapValue(ifindex, fd))
    return "an entry of a devmap runs a program"


def broadcast() -> str:
    with _devmap() as devmap:
        code = tiny_programs.redirecting(devmap.fd, 0, _BROADCAST)
        with _loaded(ProgramType.XDP, code) as fd:
            if prog_test_run(fd, bytes(64)).retval != XdpAction.REDIRECT:
                raise Missing("the kernel does not know BPF_F_BROADCAST")
    return "one packet to all entries of a devmap"


def egress_program() -> str:
    from netclone_host.kernel import tc

    code = tiny_programs.returning(0)
    with _throw_away_veth() as ifindex, _loaded(ProgramType.SCHED_CLS, code) as fd:
        if tcx.is_available(ifindex):
            os.close(tcx.attach_first(fd, ifindex))
            return "tcx on a veth, by a link"
        tc.add_clsact(ifindex)
        tc.add_filter(ifindex, fd, _TRY, 1)
    return "clsact with a BPF filter on a veth"


def af_xdp() -> str:
    with socket.socket(_AF_XDP, socket.SOCK_RAW):
        return "sockets of the family AF_XDP"
