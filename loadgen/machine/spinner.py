# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``spinner.py LIBRARY CPU,CPU.. GROUP..``: spins on each processor at the lowest priority, in
these control groups, until its standard input ends or its parent is gone. Started by
loadgen/machine/awake.py; nothing else is imported here, so that it begins at once.

It is a process of its own because a priority counts only inside a scheduling group: the kernel
first divides a processor among groups (control groups, or sessions where it groups by them), and a
group in which only a spinner runs would get its full share.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import sys
import threading
from pathlib import Path

PARENT_CHECK_S = 1.0
_AUTOGROUP = Path("/proc/self/autogroup")
_LOWEST, _USUAL = "19", "0"


def main(library: str, cpus: str, groups: list[str]) -> None:
    """Prints one line once it spins. Raises `OSError` where it may not join a group."""
    parent = os.getppid()
    for group in groups:
        Path(group, "cgroup.procs").write_text("0")
    _set_group(_LOWEST)
    spin, stop = ctypes.CDLL(library).lg_awake_run, ctypes.c_uint32(0)
    for cpu in cpus.split(","):
        arguments = (ctypes.c_uint32(int(cpu)), ctypes.byref(stop))
        threading.Thread(target=spin, args=arguments, daemon=True).start()
    os.write(1, b"\n")
    while os.getppid() == parent and not select.select([0], [], [], PARENT_CHECK_S)[0]:
        pass
    _hurry()
    os._exit(0)


def _set_group(niceness: str) -> None:
    with contextlib.suppress(OSError):  # a kernel that does not group by sessions
        _AUTOGROUP.write_text(niceness)


def _hurry() -> None:
    """A thread has to run in order to end, which takes long at the lowest priority on a busy
    processor."""
    _set_group(_USUAL)
    with contextlib.suppress(OSError):  # not permitted
        for task in Path("/proc/self/task").iterdir():
            os.sched_setaffinity(int(task.name), range(os.sysconf("SC_NPROCESSORS_CONF")))
            os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
