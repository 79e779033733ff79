# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Settings for every test."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from loadgen.machine.awake import processors_awake

# Speed is measured in benchmarks; a busy machine must not fail a test.
settings.register_profile("netclone", deadline=None)
settings.load_profile("netclone")

# In the background of a shell SIGINT is ignored, and would be by every program under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _awake() -> Iterator[None]:
    """The machine does not fall asleep between the packets of a test: a virtual one on a busy host
    takes milliseconds to wake up. By a process of its own, so that the tests' has no child that
    is not theirs; it ends with theirs, however that ends."""
    ends, lives = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        with contextlib.suppress(BaseException):
            os.close(lives)
            with processors_awake():
                os.read(ends, 1)
        os._exit(0)
    os.close(ends)
    yield
    os.close(lives)
    os.waitpid(keeper, 0)
