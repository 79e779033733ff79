# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processors that stay awake while something is measured on them.

An idle processor goes to sleep, and whoever wakes it waits: some microseconds if it sleeps deeply,
and in a virtual machine until the hypervisor finds it a processor again, which takes milliseconds
on a busy host. A rack of emulated servers is idle most of the time, so this would show in all its
latencies.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from loadgen.machine import spinner
from loadgen.native.library import library_path

_LATENCY_REQUEST = Path("/dev/cpu_dma_latency")
_CGROUP_ROOT = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us")
_UNLIMITED = ("max", "-1")
_BEGIN_S = 5.0
_END_S = 2.0


@contextmanager
def processors_awake() -> Iterator[None]:
    """Inside the block no processor that this process may use sleeps deeply.

    The kernel is asked for it (needs root). In a virtual machine the kernel has no say, so a
    process also spins on each processor at the lowest priority and yields to everything else. It
    runs outside all control groups, where it would get a full share of its own, and never under a
    CPU quota, which it would use up. Whatever is not available is skipped.
    """
    with ExitStack() as undo:
        with suppress(OSError):
            request = os.open(_LATENCY_REQUEST, os.O_WRONLY)
            undo.callback(os.close, request)
            os.write(request, bytes(4))  # microseconds to wake up: 0
        if _is_virtual():
            chains = _cpu_groups()
            if not _has_quota(chains) and (roots := _ways_out(chains)) is not None:
                undo.enter_context(_spinning(roots))
        yield


@contextmanager
def _spinning(roots: list[Path]) -> Iterator[None]:
    """Spins in the groups `roots`. The spinner ends with this process, however that ends: its
    standard input closes."""
    allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    library = str(library_path("loadgen"))
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", spinner.__file__, library, allowed, *map(str, roots)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # our interrupts and our share of a processor are not its own
    )
    assert process.stdout is not None
    try:
        select.select([process.stdout], [], [], _BEGIN_S)
        yield
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for end in (process.stdin, process.stdout):
        if end is not None:
            end.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)
        return
    process.kill()


def _is_virtual() -> bool:
    """As the processor reports it; unknown outside x86, and then not assumed."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return "hypervisor" in line.split()
    return False


def _cpu_groups() -> list[list[Path]]:
    """The control groups that may govern this process's processor time: in each hierarchy its own,
    and those around it up to what it sees as the root."""
    chains = []
    with suppress(OSError):
        for line in _OWN_GROUPS.read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0":  # cgroup v2
                mounts = [_CGROUP_ROOT, _CGROUP_ROOT / "unified"]
            elif "cpu" in controllers.split(","):
                mounts = [_CGROUP_ROOT / controllers, _CGROUP_ROOT / "cpu"]
            else:
                continue
            names = [name for name in path.split("/") if name not in ("", "..")]
            for mount in mounts:
                chain = [mount.joinpath(*names[:n]) for n in range(len(names), -1, -1)]
                chains.append([group for group in chain if (group / "cgroup.procs").exists()])
    return [chain for chain in chains if chain]


def _has_quota(chains: list[list[Path]]) -> bool:
    """Whether one of the groups limits the processor time."""
    for file in (group / name for chain in chains for group in chain for name in _QUOTA_FILES):
        with suppress(OSError):
            if file.read_text().split()[0] not in _UNLIMITED:
                return True
    return False


def _shares(group: Path) -> bool:
    """Whether the group has a share of the processors of its own: all but roots do."""
    v1 = (group / "cpu.shares").exists() and not (group / "release_agent").exists()
    return v1 or (group / "cpu.weight").exists()


def _ways_out(chains: list[list[Path]]) -> list[Path] | None:
    """The roots to move to, so as to be in no group with a share; None if they are not visible."""
    roots = [chain[-1] for chain in chains if any(map(_shares, chain))]
    return None if any(map(_shares, roots)) else roots
