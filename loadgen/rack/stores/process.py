# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A store's own server (Debian's redis-server or memcached), on a unix socket, inside a server's
network namespace; stopped with the context."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from enum import IntEnum
from pathlib import Path

from loadgen.traffic.startable import Startable
from netclone_host.errors import UserError

START_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 5.0
MEMORY_MB = 64
"""What a store takes without objects; and"""
OBJECT_BYTES = 256
"""for each, with room to spare: memcached forgets objects when it is full."""


class StoreKind(IntEnum):
    """`enum lg_store_kind`."""

    REDIS = 0
    MEMCACHED = 1


_PACKAGES = {StoreKind.REDIS: "redis-server", StoreKind.MEMCACHED: "memcached"}


def memory_mb(objects: int) -> int:
    """MiB that a store of so many objects may take."""
    return MEMORY_MB + (objects * OBJECT_BYTES >> 20)


def require_memory(objects: int, stores: int) -> None:
    """`UserError` if the machine cannot hold so many stores of so many objects now."""
    wanted_mb = stores * memory_mb(objects)
    free_mb = _available_mb()
    if wanted_mb > free_mb:
        fitting = max(0, ((free_mb // stores - MEMORY_MB) << 20) // OBJECT_BYTES)
        raise UserError(
            f"{stores} stores of {objects:,} objects take {wanted_mb:,} MiB,"
            f" and {free_mb:,} MiB are free",
            f"give at most --objects {fitting}",
        )


def _available_mb() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) >> 10
    raise AssertionError("/proc/meminfo without MemAvailable")


class StoreProcess(Startable):
    """One running store. `socket_path` is where it listens, and nowhere else."""

    def __init__(self, kind: StoreKind, objects: int, netns: Path | None = None) -> None:
        """A store for so many objects. Raises `UserError` when the program is not installed."""
        self.kind = kind
        self._memory_mb = memory_mb(objects)
        self._netns = netns
        self._program = shutil.which(_PACKAGES[kind])
        if self._program is None:
            raise UserError(
                f"{_PACKAGES[kind]} is not installed",
                f"run 'make setup', or 'apt-get install {_PACKAGES[kind]}'",
            )
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.socket_path = Path()

    def _command(self, directory: Path) -> list[str]:
        assert self._program is not None
        path = str(self.socket_path)
        if self.kind is StoreKind.REDIS:
            command = [
                self._program, "--port", "0", "--unixsocket", path, "--save", "",
                "--appendonly", "no", "--daemonize", "no", "--dir", str(directory),
            ]  # fmt: skip
        else:
            command = [
                self._program, "-s", path, "-m", str(self._memory_mb), "-t", "4", "-u", "root",
            ]  # fmt: skip
        # A sweep that is killed cannot stop its stores: the kernel ends them.
        command = ["setpriv", "--pdeathsig", "KILL", *command]
        if self._netns is not None:
            command = ["nsenter", f"--net={self._netns}", *command]
        return command

    def start(self) -> None:
        """Starts it and waits until it answers. Raises `UserError` with its last words."""
        self._directory = tempfile.TemporaryDirectory(prefix="netclone-store-")
        directory = Path(self._directory.name)
        self.socket_path = directory / "socket"
        with (directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command(directory), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                last = (directory / "log").read_text(errors="replace").strip().splitlines()
                self.stop()
                raise UserError(
                    f"{_PACKAGES[self.kind]} did not start: {last[-1] if last else 'no output'}",
                    "see whether it runs by hand",
                )
            time.sleep(0.02)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(1)
            try:
                sock.connect(str(self.socket_path))
                sock.sendall(b"PING\r\n" if self.kind is StoreKind.REDIS else b"version\r\n")
                return bool(sock.recv(64))
            except OSError:
                return False

    def stop(self) -> None:
        """Ends the process and removes its directory; once."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None
