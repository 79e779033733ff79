# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Somebody steps the clock while the client runs: the record says so, and so does the exit
status. The step is put between the client and the C library; the machine's clock stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.services import parse_workload

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

Loopback = Callable[[int], list[Endpoint]]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "clock_step.so"
    source = Path(__file__).with_name("clock_step.c")
    flags = ("-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    subprocess.run(["cc", *flags, "-o", library, source], check=True)
    return library


def run_while(
    at: Endpoint, shim: Path, step_ns: int, switch: Path, meanwhile: Callable[[], None]
) -> tuple[int, dict[str, object]]:
    """Exit status and record of a client; `meanwhile` is called when requests come."""
    command = [
        *(sys.executable, "-m", "loadgen.cli", "client", "--server", f"{at.ip}:{at.port}"),
        *("--rate", "200", "--duration", "2s", "--warmup", "100ms", "--late", "1s"),
        *("--no-probe", "--json", "-"),
    ]
    environment = os.environ | {
        "LD_PRELOAD": str(shim),
        "CLOCK_STEP_FILE": str(switch),
        "CLOCK_STEP_NS": str(step_ns),
    }
    server = VirtualServers([VirtualServer(at, 0)], parse_workload("const:1us"))
    with server, subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as client:
        deadline = time.monotonic() + 60
        while server.received < 50 and time.monotonic() < deadline:
            time.sleep(0.01)
        meanwhile()
        output, _ = client.communicate(timeout=60)
    (record,) = json.loads(output)
    return client.returncode, record


@pytest.mark.parametrize("step_ms", [250, -250])
def test_a_step_makes_the_run_partial(
    loopback: Loopback, shim: Path, tmp_path: Path, step_ms: int
) -> None:
    (at,) = loopback(1)
    switch = tmp_path / "step"
    status, record = run_while(at, shim, step_ms * 1_000_000, switch, switch.touch)
    assert status == 3
    assert record["partial"] and not record["kept_schedule"]
    assert f"the clock was stepped by {step_ms:.1f} ms" in str(record["note"])
    assert record["answered"] == record["sent"] and record["unsent"] == 0


def test_a_step_that_is_taken_back_is_noticed_too(
    loopback: Loopback, shim: Path, tmp_path: Path
) -> None:
    (at,) = loopback(1)
    switch = tmp_path / "step"

    def there_and_back() -> None:
        switch.touch()
        time.sleep(0.3)
        switch.unlink()

    status, record = run_while(at, shim, 250_000_000, switch, there_and_back)
    assert status == 3
    assert "the clock was stepped by 250.0 ms" in str(record["note"])


def test_without_a_step_nothing_is_said(loopback: Loopback, shim: Path, tmp_path: Path) -> None:
    (at,) = loopback(1)
    status, record = run_while(at, shim, 250_000_000, tmp_path / "step", lambda: None)
    assert status == 0
    assert record["note"] == "" and record["kept_schedule"]
