# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The commands as a user calls them: output, files, exit status, errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from loadgen.cli import main
from loadgen.traffic.endpoints import Endpoint

Loopback = Callable[[int], list[Endpoint]]
TRACE = [(name, "<u8") for name in ("seq", "sched", "sent", "recv")] + [
    ("sid", "<u4"), ("clo", "<u4"),
]  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def server_process(loopback: Loopback) -> Iterator[tuple[Endpoint, int]]:
    """`netclone-loadgen server` as a process of its own: its address and process id."""
    (at,) = loopback(1)
    command = [sys.executable, "-m", "loadgen.cli", "server", "--listen", f"{at.ip}:{at.port}"]
    process = subprocess.Popen([*command, "--service", "const:200us"], stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert b"answers at" in process.stderr.readline()
    yield at, process.pid
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    process.stderr.close()


@pytest.fixture
def server(server_process: tuple[Endpoint, int]) -> Endpoint:
    """The address alone."""
    return server_process[0]


def address(at: Endpoint) -> str:
    return f"{at.ip}:{at.port}"


@pytest.mark.parametrize("command", ["server", "coordinator"])
def test_a_signal_that_comes_with_the_first_word_ends_it_in_order(
    loopback: Loopback, command: str
) -> None:
    at, server = loopback(2)
    words = [command, "--listen", address(at)]
    if command == "coordinator":
        words += ["--server", address(server)]
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "loadgen.cli", *words],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stderr is not None
        process.stderr.read(1)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=10)
        assert process.returncode == 0
        assert b"requests" in out or b"received" in out


def test_client_against_a_server(server: Endpoint, tmp_path: Path) -> None:
    out, trace = tmp_path / "run.json", tmp_path / "trace"
    result = run(
        "client", "--server", address(server), "--rate", "500", "--duration", "500ms",
        "--warmup", "100ms", "--late", "50ms", "--json", out, "--trace", trace, "--threads", "2",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    (record,) = json.loads(out.read_text())
    assert record["answered"] == record["sent"] > 150
    assert record["p50_us"] >= 200
    entries = np.fromfile(trace, dtype=TRACE)
    assert len(entries) == record["answered"]
    assert np.median(entries["recv"] - entries["sched"]) * 1e-3 == pytest.approx(
        record["p50_us"], rel=0.01
    )


def test_late_run_says_so_in_record_and_status(server: Endpoint) -> None:
    result = run(
        "client", "--server", address(server), "--rate", "20e6", "--duration", "50ms",
        "--warmup", "1ms", "--json", "-",
    )  # fmt: skip
    assert result.exit_code == 3
    (record,) = json.loads(result.output)
    assert record["kept_schedule"] is False
    assert record["unsent"] > 0


def test_freezing_a_server_shows_in_the_percentiles(
    server_process: tuple[Endpoint, int],
) -> None:
    """One second of ten at 10,000 requests per second: a tenth of them is late, none is lost."""
    server, pid = server_process
    client = subprocess.Popen(
        [
            *(sys.executable, "-m", "loadgen.cli", "client", "--server", address(server)),
            *("--rate", "10000", "--duration", "10s", "--warmup", "100ms", "--json", "-"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(4)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(pid, signal.SIGCONT)
    output, _ = client.communicate(timeout=60)
    (record,) = json.loads(output)
    assert record["answered"] == record["sent"]
    assert record["unanswered"] == record["redundant"] == 0
    assert record["max_us"] == pytest.approx(1e6, rel=0.2)
    # Late by up to a second, evenly: the 99th percentile is about 900 ms, the 95th 500 ms.
    assert 0.7e6 < record["p99_us"] < 1.1e6
    assert record["p50_us"] < 100_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["client", "--server", "127.0.0.1:9", "--rate", "1"], "no answer from the server"),
        (["client", "--server", "nowhere", "--rate", "1"], "is not an IP address"),
        (["client", "--server", "127.0.0.1:x", "--rate", "1"], "'x' is not a port"),
        (["client", "--server", "127.0.0.1"], "either --rate or --load"),
        (["client", "--server", "127.0.0.1", "--rate", "0"], "--rate: 0 is not above 0"),
        (["client", "--server", "127.0.0.1", "--rate", "1", "--service", "exp:x"], "part 1"),
        (["client", "--server", "127.0.0.1", "--rate", "1", "--scheme", "x"], "unknown scheme"),
        (["client", "--server", "127.0.0.1", "--rate", "1", "--scheme", "c-clone"], "two servers"),
        (["client", "--server", "127.0.0.1", "--rate", "1", "--duration", "5"], "has no unit"),
        (["client", "--server", "127.0.0.1", "--rate", "1", "--netns", "no-such"], "namespace"),
        (["server", "--listen", "192.0.2.1"], "is not an address of this machine"),
        (["server", "--listen", "127.0.0.1:0", "--io", "af_xdp"], "needs an interface"),
        (["coordinator", "--listen", "127.0.0.1:0", "--server", "127.0.0.1", "--slots", "0"],
         "slots"),
    ],
)  # fmt: skip
def test_errors_have_a_sentence_a_hint_and_status_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "hint: " in result.output
    assert "Traceback" not in result.output


def test_full_disk_of_the_record(server: Endpoint) -> None:
    result = run(
        "client", "--server", address(server), "--rate", "100", "--duration", "100ms",
        "--json", "/proc/nothing.json",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "cannot write '/proc/nothing.json'" in result.output


def test_coordinator_ends_with_its_counts(loopback: Loopback) -> None:
    at, one = loopback(2)
    result = run(
        "coordinator", "--listen", address(at), "--server", address(one),
        "--duration", "200ms", "--json", "-",
    )  # fmt: skip
    assert result.exit_code == 0
    assert json.loads(result.stdout)["requests"] == 0


@pytest.mark.parametrize(
    "words",
    [
        ("client", "--server", "127.0.0.1:1", "--rate", "1", "--duration", "1min"),
        ("simulate", "--requests", "100000000"),
        ("sweep", "--rates", "1", "--server", "127.0.0.1:1"),
        ("check",),
        ("advise", "--service", "exp:25us"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_measurement(
    words: tuple[str, ...],
) -> None:
    result = run(*words, "--json", "/no/such/x.json")
    assert result.exit_code == 2
    assert result.output.splitlines() == [
        "error: cannot write '/no/such/x.json': there is no '/no/such'",
        "hint: choose another place",
    ]
