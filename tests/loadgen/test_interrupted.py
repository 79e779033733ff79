# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Who waits for a loop of C and is interrupted frees nothing that the loop uses."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

import pytest

from loadgen.traffic.threads import LoopThread


class Interrupted(Exception):
    pass


def interrupt(_number: int, _frame: FrameType | None) -> None:
    raise Interrupted


def test_it_waits_to_the_end_however_often_it_is_interrupted() -> None:
    go = threading.Event()
    thread = LoopThread(go.wait, "loop")
    former = signal.signal(signal.SIGUSR1, interrupt)
    main = threading.main_thread().ident
    assert main is not None

    def disturb() -> None:
        for _ in range(3):
            time.sleep(0.1)
            signal.pthread_kill(main, signal.SIGUSR1)
        time.sleep(0.1)
        go.set()

    other = threading.Thread(target=disturb)
    try:
        thread.start()
        other.start()
        with pytest.raises(Interrupted):
            thread.wait_out()
        assert go.is_set() and thread.over.is_set()
    finally:
        go.set()
        signal.signal(signal.SIGUSR1, former)
        other.join()
