# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Scheduling of the threads that run hot loops, and what others took from them."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

NICENESS = -15


def prefer_this_thread(*, sleeps: bool) -> None:
    """Asks for this thread to be scheduled before ordinary ones; does nothing without privilege.

    A thread that `sleeps` until the next packet or timer gets a real-time priority, so
    that it runs when it wakes; one that never sleeps would starve the rest with it.
    """
    with contextlib.suppress(OSError):
        if sleeps:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
            return
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def waited_for_processor_ns() -> int:
    """For how long this thread has so far been ready to run while others ran; 0 where the kernel
    does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def stolen_s() -> float:
    """Seconds that the hypervisor has taken from this machine's processors so far."""
    try:
        total = Path("/proc/stat").read_text().split(maxsplit=9)
        return int(total[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0
