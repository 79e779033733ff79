# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processors that stay awake while something is measured on them.

A processor without work goes to sleep, and whoever wakes it waits: for some microseconds where it
sleeps deeply, and in a virtual machine until the hypervisor finds it a processor again, which on
a busy host takes milliseconds. A rack of emulated servers is idle most of the time, so that this
would be in all its latencies.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from loadgen.abi import traffic_library

_LATENCY_REQUEST = Path("/dev/cpu_dma_latency")
_CGROUP_ROOT = Path("/sys/fs/cgroup")
_QUOTA_FILES = ("cpu.max", "cpu/cpu.cfs_quota_us")
_UNLIMITED = ("max", "-1")


@contextmanager
def processors_awake() -> Iterator[None]:
    """Inside the block no processor that this process may use sleeps deeply.

    The kernel is asked for it (needs root). In a virtual machine, whose kernel cannot
    help it, a thread on each processor spins besides at the lowest priority, which yields to
    everything else; not under a CPU quota, which spinning would use up. What cannot be had is
    done without.
    """
    with ExitStack() as undo:
        with suppress(OSError):
            request = os.open(_LATENCY_REQUEST, os.O_WRONLY)
            undo.callback(os.close, request)
            os.write(request, bytes(4))  # microseconds to wake up: 0
        if _is_virtual() and not _has_quota():
            undo.enter_context(_spinning())
        yield


@contextmanager
def _spinning() -> Iterator[None]:
    spin, stop = traffic_library().lg_awake_run, ctypes.c_uint32(0)
    spinners: list[threading.Thread] = []
    try:
        for cpu in sorted(os.sched_getaffinity(0)):
            arguments = (ctypes.c_uint32(cpu), ctypes.byref(stop))
            spinner = threading.Thread(
                target=spin, args=arguments, name=f"awake {cpu}", daemon=True
            )
            spinner.start()
            spinners.append(spinner)
        yield
    finally:
        stop.value = 1
        for spinner in spinners:
            spinner.join()


def _is_virtual() -> bool:
    """As the processor tells it; elsewhere than on x86 not known, and not assumed."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return "hypervisor" in line.split()
    return False


def _has_quota() -> bool:
    """Whether a control group limits the processor time: of the group that a container sees as
    its root, or of the one that this process is in."""
    groups = {_CGROUP_ROOT}
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            groups.add(_CGROUP_ROOT / line.split(":", 2)[2].lstrip("/"))
    for file in (group / name for group in groups for name in _QUOTA_FILES):
        with suppress(OSError):
            if file.read_text().split()[0] not in _UNLIMITED:
                return True
    return False
