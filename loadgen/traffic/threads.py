# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that run the hot loops of C, and end before what they use is freed."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable

from loadgen.machine.priority import prefer_this_thread
from netclone_host.errors import UserError

POLL_S = 0.001


class LoopThread(threading.Thread):
    """A thread whose end is known even to a caller that was interrupted while waiting for it:
    Python 3.11's `join` then considers a running thread ended, and what it uses would be freed."""

    def __init__(self, loop: Callable[[], object], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._loop = loop
        self.over = threading.Event()

    def start(self) -> None:
        """Starts it; a thread that cannot start is over."""
        try:
            super().start()
        except BaseException:
            if self.ident is None:
                self.over.set()
            raise

    def run(self) -> None:
        """Calls the loop."""
        try:
            self._loop()
        finally:
            self.over.set()

    def wait_out(self) -> None:
        """Waits until it is over; an interruption is raised afterwards. Tell the loop to stop
        first."""
        interruption: BaseException | None = None
        while not self.over.is_set():
            try:
                self.over.wait()
            except BaseException as error:
                interruption = error
        if interruption is not None:
            raise interruption


class NativeThread:
    """A hot loop of C in a thread of its own, until the flag that it watches is set."""

    def __init__(self, name: str) -> None:
        """`name` as errors give it."""
        self._name = name
        self._thread: LoopThread | None = None
        self._error = 0
        self.stop_flag = ctypes.c_uint32(0)
        """What the loop's configuration points to."""

    @property
    def is_running(self) -> bool:
        """It was started, and not stopped."""
        return self._thread is not None

    def start(
        self,
        loop: Callable[[], int],
        *,
        prefer: bool = True,
        sleeps: bool = True,
        ready: Callable[[], bool] = lambda: True,
        undo: Callable[[], None],
    ) -> None:
        """Calls `loop`, which returns 0 or -errno; returns when it is `ready`. `prefer`,
        `sleeps`: its priority. If it ended before it was ready, `undo` is called, and
        `UserError` raised."""
        self.stop_flag.value = 0

        def run() -> None:
            if prefer:
                prefer_this_thread(sleeps=sleeps)
            self._error = loop()

        self._thread = LoopThread(run, self._name)
        self._thread.start()
        while not ready() and self._thread.is_alive():
            time.sleep(POLL_S)
        if not self._thread.is_alive():
            try:
                self.stop()
            except UserError:
                undo()
                raise

    def stop(self) -> None:
        """Ends the loop, if it runs. Raises `UserError` if it could not begin."""
        if self._thread is None:
            return
        self.stop_flag.value = 1
        self._thread.wait_out()
        self._thread = None
        error, self._error = self._error, 0
        if error:
            raise UserError(
                f"the {self._name} could not start: {os.strerror(-error)}",
                "is there enough memory, and are there not too many workers?",
            )
