# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that simulate end with the command that started them, however that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LONG = ("simulate", "--schemes", "baseline", "--loads", "0.1", "--requests", "100000000000")


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds: object) -> None:
    deadline = time.monotonic() + 20
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_is_left(number: signal.Signals) -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "loadgen.cli", *LONG, "--processes", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: len(children(command.pid)) == 2)
        workers = children(command.pid)
        time.sleep(0.5)
        command.send_signal(number)
        assert command.wait(20) in (128 + number, -number)
        wait_until(lambda: not any(map(runs, workers)))
    finally:
        command.kill()
        command.wait()
