# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processors that are kept awake: a spinner on each, that yields, and only where it helps."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadgen.machine import awake
from loadgen.machine.awake import processors_awake
from loadgen.native.traffic_library import traffic_library

WAIT_S = 10.0
CPU_HIERARCHY = Path("/sys/fs/cgroup/cpu")


def spinners(parent: int | None = None) -> list[int]:
    """Processes of `parent`, or of this process, that keep processors awake."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]
            is_one = b"/spinner.py\0" in (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if is_one and state != "Z" and int(ppid) == (parent or os.getpid()):
            found.append(int(stat.parent.name))
    return found


def threads(pid: int) -> list[tuple[int, set[int]]]:
    """(policy, processors) of the threads of a spinner that spin."""
    tids = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    return [
        (os.sched_getscheduler(tid), os.sched_getaffinity(tid)) for tid in tids if tid != pid
    ]  # fmt: skip


def eventually(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def group(at: Path, **files: str) -> None:
    """A control group with such files (`cpu_max` for cpu.max), as far as anybody looks."""
    at.mkdir(parents=True, exist_ok=True)
    for name, text in {"cgroup.procs": "", **files}.items():
        (at / name.replace("_", ".", 1)).write_text(text)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual machine, and control groups of which none has a limit."""
    monkeypatch.setattr(awake, "_is_virtual", lambda: True)
    monkeypatch.setattr(awake, "_CGROUP_ROOT", tmp_path)
    monkeypatch.setattr(awake, "_OWN_GROUPS", tmp_path / "own")
    (tmp_path / "own").write_text("1:name=systemd:/x\n0::/outer/inner\n")
    group(tmp_path)
    return tmp_path


def test_each_processor_has_a_spinner_that_yields(groups: Path) -> None:
    allowed = os.sched_getaffinity(0)
    with processors_awake():
        (pid,) = spinners()
        eventually(lambda: all(policy == os.SCHED_IDLE for policy, _ in threads(pid)))
        eventually(lambda: sorted(c for _, on in threads(pid) for c in on) == sorted(allowed))
        assert Path(f"/proc/{pid}/stat").read_text().split()[5] == str(pid)  # its own session
        assert os.sched_getaffinity(0) == allowed
    assert not spinners()


def test_only_processors_that_this_process_may_use(groups: Path) -> None:
    allowed = os.sched_getaffinity(0)
    one = {max(allowed)}
    os.sched_setaffinity(0, one)
    try:
        with processors_awake():
            (pid,) = spinners()
            eventually(lambda: [on for _, on in threads(pid)] == [one])
    finally:
        os.sched_setaffinity(0, allowed)


V2, V1 = "0::/outer/inner\n", "7:memory:/x\n3:cpu,cpuacct:/outer/inner\n"


@pytest.mark.parametrize(
    ("own", "where", "limit"),
    [
        (V2, "outer/inner", {"cpu_max": "50000 100000\n"}),
        (V2, "outer", {"cpu_max": "50000 100000\n"}),
        (V2, "", {"cpu_max": "50000 100000\n"}),
        ("0::/../other\n", "", {"cpu_max": "50000 100000\n"}),
        ("0::/not/seen\n", "", {"cpu_max": "50000 100000\n"}),
        (V2, "unified/outer", {"cpu_max": "50000 100000\n"}),
        (V1, "cpu,cpuacct/outer/inner", {"cpu_cfs_quota_us": "200000\n"}),
        (V1, "cpu/outer/inner", {"cpu_cfs_quota_us": "200000\n"}),
        (V1, "cpu,cpuacct/outer", {"cpu_cfs_quota_us": "200000\n"}),
        (V1, "cpu,cpuacct", {"cpu_cfs_quota_us": "200000\n"}),
    ],
)
def test_nothing_spins_a_quota_away(
    groups: Path, own: str, where: str, limit: dict[str, str]
) -> None:
    (groups / "own").write_text(own)
    group(groups / where, **limit)
    with processors_awake():
        assert not spinners()


@pytest.mark.parametrize(
    ("own", "where", "limit"),
    [
        (V2, "another", {"cpu_max": "50000 100000\n"}),
        (V2, "outer/inner/deeper", {"cpu_max": "50000 100000\n"}),
        (V2, "outer", {"cpu_max": "max 100000\n"}),
        (V1, "cpu/outer", {"cpu_cfs_quota_us": "-1\n"}),
        (V1, "memory/outer", {"cpu_cfs_quota_us": "200000\n"}),
    ],
)
def test_the_quota_of_others_is_none(
    groups: Path, own: str, where: str, limit: dict[str, str]
) -> None:
    (groups / "own").write_text(own)
    group(groups / where, **limit)
    with processors_awake():
        assert len(spinners()) == 1


@pytest.mark.parametrize(
    ("own", "root", "root_file"), [(V2, "", "cpu_stat"), (V1, "cpu", "release_agent")]
)
def test_a_spinner_leaves_a_group_that_has_a_share(
    groups: Path, own: str, root: str, root_file: str
) -> None:
    (groups / "own").write_text(own)
    share = {"cpu_weight": "100\n"} if own == V2 else {"cpu_shares": "1024\n"}
    group(groups / root)
    ((groups / root) / root_file).write_text("")
    group(groups / root / "outer", **share)
    with processors_awake():
        assert len(spinners()) == 1
        assert (groups / root / "cgroup.procs").read_text() == "0"


@pytest.mark.parametrize(
    ("own", "root", "share"),
    [(V2, "", {"cpu_weight": "100\n"}), (V1, "cpu", {"cpu_shares": "1024\n"})],
)
def test_nothing_spins_in_a_container_whose_share_it_would_be(
    groups: Path, own: str, root: str, share: dict[str, str]
) -> None:
    (groups / "own").write_text(own)
    group(groups / root, **share)
    with processors_awake():
        assert not spinners()


def test_nothing_spins_where_it_may_not_leave_its_group(groups: Path) -> None:
    group(groups / "outer", cpu_weight="100\n")
    (groups / "cgroup.procs").unlink()
    (groups / "cgroup.procs").mkdir()
    with processors_awake():
        eventually(lambda: not spinners())


def test_nothing_spins_where_sleep_is_the_kernels_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awake, "_is_virtual", lambda: False)
    with processors_awake():
        assert not spinners()


def test_it_ends_with_an_error_inside(groups: Path) -> None:
    with pytest.raises(ZeroDivisionError), processors_awake():
        _ = 1 / 0
    assert not spinners()


def test_one_inside_another_ends_on_its_own(groups: Path) -> None:
    with processors_awake():
        outer = spinners()
        with processors_awake():
            assert len(spinners()) == 2
        assert spinners() == outer
    assert not spinners()


HOLDER = """
import os, sys, time
from loadgen.machine import awake
awake._is_virtual, awake._has_quota, awake._ways_out = lambda: True, lambda _: False, lambda _: []
with awake.processors_awake():
    print(flush=True)
    if sys.argv[1] == "fork" and os.fork() == 0:  # has what the spinner reads, and lives on
        time.sleep(5)
        os._exit(0)
    time.sleep(30)
"""


@pytest.mark.parametrize("how", ["alone", "fork"])
def test_a_spinner_ends_with_a_process_that_is_killed(how: str) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, how], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        (pid,) = spinners(holder.pid)
    finally:
        holder.kill()
        holder.wait()
    started = time.monotonic()
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    assert time.monotonic() - started < 4


BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
open(sys.argv[2], "w").write("0") if sys.argv[2] else None
until = time.monotonic() + 20
while time.monotonic() < until: pass
"""


@pytest.fixture
def cpu_groups() -> Iterator[tuple[str, str]]:
    """cgroup.procs of two control groups of their own, empty names where there is no cgroup v1:
    then sessions group."""
    if os.geteuid() != 0 or not (CPU_HIERARCHY / "release_agent").exists():
        yield "", ""
        return
    made = [CPU_HIERARCHY / f"netclone-test-{name}-{os.getpid()}" for name in ("ours", "others")]
    for at in made:
        at.mkdir()
    try:
        yield str(made[0] / "cgroup.procs"), str(made[1] / "cgroup.procs")
    finally:
        (CPU_HIERARCHY / "cgroup.procs").write_text("0")
        for at in made:
            procs = at / "cgroup.procs"
            eventually(functools.partial(is_empty, procs))
            at.rmdir()


def is_empty(procs: Path) -> bool:
    return not procs.read_text()


def test_a_spinner_hinders_no_other_group_and_ends_at_once(
    cpu_groups: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, others = cpu_groups
    monkeypatch.setattr(awake, "_is_virtual", lambda: True)
    monkeypatch.setattr(awake, "_has_quota", lambda _: False)
    busy = [
        subprocess.Popen([sys.executable, "-c", BUSY, str(c), others], start_new_session=True)
        for c in sorted(os.sched_getaffinity(0))
    ]
    try:
        if ours:
            Path(ours).write_text("0")
        with processors_awake():
            (pid,) = spinners()
            time.sleep(1)
            before = cpu_ticks(pid)
            time.sleep(2)
            used = (cpu_ticks(pid) - before) / os.sysconf("SC_CLK_TCK")
            ending = time.monotonic()
        assert time.monotonic() - ending < 1
        assert used < 0.1 * 2 * len(busy)  # a third, and more, if it had a share
    finally:
        for process in busy:
            process.send_signal(signal.SIGKILL)
            process.wait()


def cpu_ticks(pid: int) -> int:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def test_a_processor_that_there_is_not_is_an_error() -> None:
    result = []
    thread = threading.Thread(
        target=lambda: result.append(
            traffic_library().lg_awake_run(ctypes.c_uint32(1000), ctypes.byref(ctypes.c_uint32(0)))
        )
    )
    thread.start()
    thread.join(10)
    assert result == [-errno.EINVAL]
