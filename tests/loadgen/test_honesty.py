# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a sceptic asks of a load generator: nothing flatters, and nothing vanishes."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from loadgen.cli import main
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.clients import MAX_STREAMS, run_clients
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.run_record import emulated, make_record
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.records import RunRecord, read_json
from loadgen.workload.schemes import find_scheme
from loadgen.workload.services import parse_workload
from netclone_host.errors import UserError

Loopback = Callable[[int], list[Endpoint]]
CLIENT = Endpoint("127.0.0.1", 0)
FAST = parse_workload("const:1us")


def run(at: Endpoint, *words: str) -> Result:
    command = ["client", "--server", f"{at.ip}:{at.port}", "--no-probe", *words]
    return CliRunner().invoke(main, command)


def record_of(servers: list[Endpoint], **changes: object) -> RunRecord:
    plan = ClientPlan(find_scheme("baseline"), 2000, 0.5, quiet_s=0.2, **changes)  # type: ignore[arg-type]
    return make_record(plan, run_clients(plan, [CLIENT], servers), emulated(FAST, "loadgen"))


def test_a_percentile_that_falls_among_unanswered_requests_is_unknown(loopback: Loopback) -> None:
    at = loopback(4)
    with VirtualServers([VirtualServer(e, i) for i, e in enumerate(at[:3])], FAST):
        record = record_of(at)
    assert 0.1 < record.unanswered / record.sent < 0.4
    assert record.p50_us > 0
    assert math.isnan(record.p99_us) and math.isnan(record.p999_us)
    assert record.max_us > record.p50_us


def test_a_rate_beyond_all_reach_ends_in_time_and_says_how_much_was_not_sent(
    loopback: Loopback, tmp_path: Path
) -> None:
    (at,) = loopback(1)
    out = tmp_path / "run.json"
    began = time.monotonic()
    with VirtualServers([VirtualServer(at, 0)], FAST):
        result = run(
            at, "--rate", "1e11", "--duration", "200ms", "--warmup", "1ms", "--json", str(out)
        )
    assert time.monotonic() - began < 30
    assert result.exit_code == 3
    (record,) = read_json(out)
    assert record.unsent + record.sent == pytest.approx(1e11 * 0.2, rel=0.01)
    assert math.isnan(record.p50_us)


def test_one_request_per_second(loopback: Loopback) -> None:
    (at,) = loopback(1)
    with VirtualServers([VirtualServer(at, 0)], FAST):
        plan = ClientPlan(find_scheme("baseline"), 1.0, 6.0, quiet_s=0.2, late_s=0.5, seed=2)
        summary = run_clients(plan, [CLIENT], [at])
    assert summary.answered == summary.sent == summary.scheduled
    assert 1 <= summary.sent <= 16
    assert summary.late_sends == 0


@pytest.mark.parametrize("arrivals", ["poisson", "constant", "bursty:10"])
def test_threads_share_the_rate(loopback: Loopback, arrivals: str) -> None:
    from loadgen.workload.arrivals import parse_arrivals

    (at,) = loopback(1)
    with VirtualServers([VirtualServer(at, 0)], FAST):
        plan = ClientPlan(
            find_scheme("baseline"), 2000, 1.0, quiet_s=0.2, threads=4, late_s=1.0,
            arrivals=parse_arrivals(arrivals),
        )  # fmt: skip
        summary = run_clients(plan, [CLIENT], [at])
    assert summary.answered == summary.sent == summary.scheduled
    # 2000 requests; in bursts of ten, 200 times ten.
    sigma = {"poisson": 2000**0.5, "constant": 1, "bursty:10": 10 * 200**0.5}[arrivals]
    assert abs(summary.scheduled - 2000) <= 5 * sigma


def test_what_cannot_be_sent_is_not_sent() -> None:
    """Nowhere is a route to the broadcast address of a socket that may not broadcast."""
    record = record_of([Endpoint("255.255.255.255", 9)])
    assert record.sent == 0 and record.unsent > 500
    assert record.send_errors == record.unsent
    assert not record.kept_schedule
    assert "send failed: Permission denied" in record.note


def test_families_are_not_mixed() -> None:
    with pytest.raises(UserError, match="different families"):
        record_of([Endpoint("::1", 9)])


def test_too_many_threads() -> None:
    with pytest.raises(UserError, match=f"more than {MAX_STREAMS}"):
        record_of([Endpoint("127.0.0.1", 9)], threads=MAX_STREAMS + 1)


def test_ipv6_needs_no_option(loopback: Loopback) -> None:
    port = loopback(1)[0].port
    with VirtualServers([VirtualServer(Endpoint("::1", port), 0)], FAST):
        result = CliRunner().invoke(
            main,
            [
                *("client", "--server", f"[::1]:{port}", "--rate", "500", "--late", "1s"),
                *("--duration", "300ms"),
            ],
        )
    assert result.exit_code == 0, result.output


def test_a_killed_client_leaves_no_file(loopback: Loopback, tmp_path: Path) -> None:
    (at,) = loopback(1)
    command = [
        *(sys.executable, "-m", "loadgen.cli", "client", "--server", f"{at.ip}:{at.port}"),
        *("--rate", "5000", "--duration", "60s", "--json", str(tmp_path / "r.json")),
        *("--trace", str(tmp_path / "trace")),
    ]
    server = VirtualServers([VirtualServer(at, 0)], FAST)
    with server, subprocess.Popen(command, stdout=subprocess.DEVNULL) as client:
        deadline = time.monotonic() + 60
        while server.received < 6000 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.received >= 6000
        os.kill(client.pid, signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []
