# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where results are written to: files whole or not at all, devices and pipes as they are; and
numbers that are too large for what they are about."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadgen.cli import main
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.services import parse_workload
from loadgen.workload.user_files import atomic_file, require_writable
from netclone_host.errors import UserError

Loopback = Callable[[int], list[Endpoint]]


def write(path: Path, text: str = "new") -> None:
    require_writable(path)
    with atomic_file(path) as out:
        out.write(text)


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A device of one's own that is like /dev/full."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mknod")
    device = tmp_path / "full"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    return device


def test_a_device_is_written_to_and_not_replaced(full: Path) -> None:
    with pytest.raises(UserError, match="No space left on device"):
        write(full)
    assert stat.S_ISCHR(full.stat().st_mode)
    assert list(full.parent.iterdir()) == [full]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write(pipe)
    reader.join()
    assert got == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_one_and_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("old")
    there.chmod(0o600)
    link.symlink_to(there)
    write(link)
    assert link.is_symlink()
    assert there.read_text() == "new"
    assert stat.S_IMODE(there.stat().st_mode) == 0o600


def test_a_record_on_a_full_device(full: Path, loopback: Loopback) -> None:
    (at,) = loopback(1)
    words = ["client", "--server", f"{at.ip}:{at.port}", "--rate", "100", "--duration", "100ms"]
    with VirtualServers([VirtualServer(at, 0)], parse_workload("const:1us")):
        result = CliRunner().invoke(main, [*words, "--json", str(full)])
    assert result.exit_code == 2
    assert f"cannot write '{full}': No space left on device" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rate", "5", "--duration", "1e30s"], "--duration: '1e30s' is too long"),
        (["--rate", "5", "--warmup", "1e30s"], "--warmup: '1e30s' is too long"),
        (["--rate", "5", "--late", "1e30s"], "--late: '1e30s' is too long"),
        (["--rate", "1e300"], "1e+300 requests per second is out of range"),
        (["--rate", "1e-300"], "1e-300 requests per second is out of range"),
        (["--rate", "inf"], "--rate: inf is not a finite number"),
        (["--rate", "5", "--service", "exp:1e30s"], "part 1 (mean): '1e30s' is too long"),
        (["--rate", "5", "--service", "lognormal:50:25us"], "part 1 (sigma): 50 is above 8"),
        (["--rate", "5", "--service", "weibull:0.001:25us"], "part 1 (shape): 0.001 is below"),
    ],
)
def test_numbers_out_of_range(words: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["client", "--server", "127.0.0.1:9", "--no-probe", *words])
    assert (result.exit_code, message in result.output) == (2, True), result.output


def test_a_stretched_time_out_of_range(loopback: Loopback) -> None:
    (at,) = loopback(1)
    words = ["server", "--listen", f"{at.ip}:{at.port}", "--time-scale", "1e30"]
    result = CliRunner().invoke(main, [*words, "--duration", "10ms"])
    assert (result.exit_code, "out of range" in result.output) == (2, True), result.output
