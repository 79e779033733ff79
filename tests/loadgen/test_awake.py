# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processors that are kept awake: a spinner on each, that yields, and only where it helps."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
import time
from pathlib import Path

import pytest

from loadgen import awake
from loadgen.abi import traffic_library
from loadgen.awake import processors_awake


def spinners() -> dict[int, tuple[int, set[int]]]:
    """Threads of this process that keep processors awake: policy and processors of each."""
    found = {}
    for thread in threading.enumerate():
        if thread.name.startswith("awake") and thread.native_id:
            policy = os.sched_getscheduler(thread.native_id)
            found[thread.native_id] = (policy, os.sched_getaffinity(thread.native_id))
    return found


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual machine, and control groups of which none has a limit."""
    monkeypatch.setattr(awake, "_is_virtual", lambda: True)
    monkeypatch.setattr(awake, "_CGROUP_ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("limit", ["", "max 100000\n"])
def test_each_processor_has_a_spinner_that_yields(groups: Path, limit: str) -> None:
    if limit:
        (groups / "cpu.max").write_text(limit)
    allowed = os.sched_getaffinity(0)
    with processors_awake():
        deadline = time.monotonic() + 10
        while any(policy != os.SCHED_IDLE or len(cpus) > 1 for policy, cpus in spinners().values()):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        assert sorted(cpu for _, cpus in spinners().values() for cpu in cpus) == sorted(allowed)
    assert not spinners()
    assert os.sched_getaffinity(0) == allowed


@pytest.mark.parametrize(
    ("file", "limit"), [("cpu.max", "50000 100000\n"), ("cpu/cpu.cfs_quota_us", "200000\n")]
)
def test_nothing_spins_a_quota_away(groups: Path, file: str, limit: str) -> None:
    (groups / file).parent.mkdir(exist_ok=True)
    (groups / file).write_text(limit)
    with processors_awake():
        assert not spinners()


def test_nothing_spins_where_sleep_is_the_kernels_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awake, "_is_virtual", lambda: False)
    with processors_awake():
        assert not spinners()


def test_it_ends_with_an_error_inside(groups: Path) -> None:
    with pytest.raises(ZeroDivisionError), processors_awake():
        _ = 1 / 0
    assert not spinners()


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
