# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Scheduling of the threads that run hot loops."""

from __future__ import annotations

import contextlib
import os
import threading

NICENESS = -15


def prefer_this_thread(*, sleeps: bool) -> None:
    """Asks for this thread to be scheduled before ordinary ones; without privilege, nothing.

    A thread that `sleeps` until the next packet or timer gets a real-time priority, so
    that it runs when it wakes; one that never sleeps would starve the rest with it.
    """
    with contextlib.suppress(OSError):
        if sleeps:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
            return
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
