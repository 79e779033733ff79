# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Settings for every test; each worker of pytest-xdist is a machine of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from loadgen.machine.awake import processors_awake

_CLONE_NEWNS, _CLONE_NEWNET = 0x20000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000

# Speed is measured in benchmarks; a busy machine must not fail a test.
settings.register_profile("netclone", deadline=None)
settings.load_profile("netclone")

# In the background of a shell SIGINT is ignored, and would be by every program under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "alone: measures time or needs both processors")
    if hasattr(config, "workerinput") and os.geteuid() == 0:
        _leave_the_machine()


ALONE = (
    "tests/loadgen",
    "tests/conformance/test_race.py",
    "tests/rack/test_bmv2.py",
    "tests/rack/test_run.py",
    "tests/rack/test_schemes.py",
    "tests/rack/test_store_sweep.py",
    "tests/rack/test_theory.py",
)
"""What measures time, or needs both processors: `make test` runs it after all else."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path.relative_to(config.rootpath)).startswith(ALONE):
            item.add_marker(pytest.mark.alone)


def _leave_the_machine() -> None:
    """Network and mount namespaces of this worker's own, with a /run and a BPF file system in
    which no other worker's racks, pins and locks appear. Gone when the worker ends, however it
    ends."""
    libc = ctypes.CDLL(None, use_errno=True)

    def checked(result: int) -> None:
        if result:
            number = ctypes.get_errno()
            raise OSError(number, f"a worker needs namespaces: {os.strerror(number)}")

    checked(libc.unshare(_CLONE_NEWNS | _CLONE_NEWNET))
    checked(libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))
    checked(libc.mount(b"tmpfs", b"/run", b"tmpfs", 0, None))
    Path("/run/lock").mkdir()
    checked(libc.mount(b"bpf", b"/sys/fs/bpf", b"bpf", 0, None))
    subprocess.run(("ip", "link", "set", "lo", "up"), check=True)


@pytest.fixture(scope="session", autouse=True)
def _awake(request: pytest.FixtureRequest) -> Iterator[None]:
    """The machine does not fall asleep between the packets of a test: a virtual one on a busy host
    takes milliseconds to wake up. By a process of its own, so that the tests' has no child that
    is not theirs; it ends with theirs, however that ends. Workers keep each other awake."""
    if hasattr(request.config, "workerinput"):
        yield
        return
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
