# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Client and virtual servers over loopback: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.client_summary import ClientSummary, note_clock
from loadgen.traffic.clients import Stop, run_clients
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.probe import probe
from loadgen.traffic.run_record import emulated, make_record
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.arrivals import CONSTANT, parse_arrivals
from loadgen.workload.schemes import find_scheme, parse_schemes
from loadgen.workload.services import parse_workload
from netclone_host.errors import UserError

Loopback = Callable[[int], list[Endpoint]]
CLIENT = Endpoint("127.0.0.1", 0)
FAST = parse_workload("const:1us")


def plan(scheme: str = "baseline", **changes: object) -> ClientPlan:
    base = ClientPlan(find_scheme(scheme), rate_rps=2000, duration_s=0.5, quiet_s=0.2)
    return replace(base, **changes)  # type: ignore[arg-type]


def servers(endpoints: list[Endpoint], workers: int = 15, **options: object) -> VirtualServers:
    nodes = [VirtualServer(e, i, workers) for i, e in enumerate(endpoints)]
    return VirtualServers(nodes, FAST, **options)  # type: ignore[arg-type]


def test_every_request_is_answered_once(loopback: Loopback) -> None:
    at = loopback(3)
    with servers(at) as running:
        probe(CLIENT, at)
        summary = run_clients(plan(warmup_s=0.1, late_s=1.0), [CLIENT, CLIENT], at)
    assert summary.answered == summary.sent == summary.scheduled > 800
    assert summary.redundant == summary.stale == summary.unsent == 0
    assert sum(s.answered + s.pings for s in running.stats) == sum(
        s.received for s in running.stats
    )
    assert summary.latency.count == summary.answered


def test_c_clone_sends_two_copies_to_two_servers(loopback: Loopback) -> None:
    at = loopback(2)
    with servers(at) as running:
        summary = run_clients(plan("c-clone"), [CLIENT], at)
    assert summary.copies_sent == 2 * summary.all_sent
    assert [s.received for s in running.stats] == [summary.all_sent] * 2
    assert summary.answered == summary.redundant == summary.sent


def test_latency_counts_from_the_scheduled_time_and_includes_the_service(
    loopback: Loopback,
) -> None:
    at = loopback(1)
    workload = parse_workload("const:5ms")
    with VirtualServers([VirtualServer(at[0], 0, workers=1)], workload):
        # One every 10 ms: no queueing. Then one every 4 ms: a queue that grows.
        idle = run_clients(plan(arrivals=CONSTANT, rate_rps=100), [CLIENT], at)
        full = run_clients(plan(arrivals=CONSTANT, rate_rps=250), [CLIENT], at)
    assert idle.latency.min >= 5_000_000
    assert idle.latency.quantile_ns(0.2) < 7_000_000
    # The last of 125 requests waits for 124 services of 5 ms since 496 ms ago.
    assert full.answered == full.sent
    assert full.latency.max == pytest.approx(125 * 5e6 - 124 * 4e6, rel=0.3)


def test_time_is_divided_back(loopback: Loopback) -> None:
    at = loopback(1)
    workload = parse_workload("const:25us")
    p = plan(rate_rps=50)
    with VirtualServers([VirtualServer(at[0], 0)], workload, time_scale=400):
        record = make_record(
            p, run_clients(p, [CLIENT], at), emulated(workload, "loadgen", time_scale=400)
        )
    assert record.p50_us == pytest.approx(25, rel=0.5)
    assert record.offered_rps == pytest.approx(50 * 400, rel=0.7)


def test_a_server_without_answers_is_not_left_out(loopback: Loopback) -> None:
    at = loopback(2)
    with servers(at[:1]):
        summary = run_clients(plan(), [CLIENT], at)
    assert 0 < summary.unanswered < summary.sent
    assert summary.answered + summary.unanswered == summary.sent


Reply = Callable[[socket.socket, bytes, object], None]


@contextlib.contextmanager
def answering(at: Endpoint, reply: Reply) -> Iterator[None]:
    """A server at `at` that calls `reply` for each packet, and with no packet now and then."""
    done = threading.Event()

    def serve(sock: socket.socket) -> None:
        sock.settimeout(0.02)
        while not done.is_set():
            try:
                reply(sock, *sock.recvfrom(2048))
            except TimeoutError:
                reply(sock, b"", None)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((at.ip, at.port))
        thread = threading.Thread(target=serve, args=(sock,))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def test_any_server_that_echoes_will_do(loopback: Loopback) -> None:
    (at,) = loopback(1)

    def echo(sock: socket.socket, data: bytes, peer: object) -> None:
        if data:
            sock.sendto(data[:3] + b"\x01" + data[4:], peer)  # type: ignore[arg-type]

    with answering(at, echo):
        probe(CLIENT, [at])
        summary = run_clients(plan(rate_rps=500), [CLIENT], [at])
    assert summary.answered == summary.sent > 100


def test_foreign_and_repeated_answers_are_told_apart(loopback: Loopback) -> None:
    (at,) = loopback(1)

    def twice(sock: socket.socket, data: bytes, peer: object) -> None:
        foreign = data[:32] + bytes(4) + data[36:]  # another run
        for packet in (data, data, foreign, b"short") if data else ():
            sock.sendto(packet, peer)  # type: ignore[arg-type]

    with answering(at, twice):
        summary = run_clients(plan(rate_rps=300), [CLIENT], [at])
    assert summary.answered == summary.sent
    assert summary.redundant == summary.sent
    assert summary.stale == 2 * summary.all_sent


def test_the_end_waits_for_slow_answers_while_others_come_twice(loopback: Loopback) -> None:
    """As many answers as requests is not every request answered."""
    (at,) = loopback(1)
    kept: list[tuple[float, bytes, object]] = []
    count = itertools.count()

    def reply(sock: socket.socket, data: bytes, peer: object) -> None:
        now = time.monotonic()
        while kept and kept[0][0] < now:
            sock.sendto(*kept.pop(0)[1:])  # type: ignore[arg-type]
        if data and next(count) % 4 == 0:
            kept.append((now + 0.3, data, peer))
        elif data:
            sock.sendto(data, peer)  # type: ignore[arg-type]
            sock.sendto(data, peer)  # type: ignore[arg-type]

    with answering(at, reply):
        summary = run_clients(plan(rate_rps=300, quiet_s=1.0), [CLIENT], [at])
    assert summary.answered == summary.sent
    assert summary.latency.max >= 0.3e9


def test_same_seed_same_schedule(loopback: Loopback) -> None:
    at = loopback(1)
    with servers(at):
        first = run_clients(plan(seed=5), [CLIENT], at)
        second = run_clients(plan(seed=5), [CLIENT], at)
        other = run_clients(plan(seed=6), [CLIENT], at)
    assert first.scheduled == second.scheduled
    assert first.sched_gap.sum == pytest.approx(second.sched_gap.sum)
    assert other.sched_gap.sum != first.sched_gap.sum


@pytest.mark.parametrize("text", ["constant", "bursty:8", "poisson"])
def test_arrival_processes(loopback: Loopback, text: str) -> None:
    at = loopback(1)
    with servers(at):
        summary = run_clients(plan(arrivals=parse_arrivals(text)), [CLIENT], at)
    assert summary.scheduled == pytest.approx(1000, rel=0.4)
    zero = float(np.mean(np.repeat(*summary.sched_gap.buckets()) == 0))
    assert zero == pytest.approx(7 / 8 if text == "bursty:8" else 0, abs=0.02)


def test_trace_has_one_entry_an_answer(loopback: Loopback, tmp_path: Path) -> None:
    at = loopback(1)
    file = tmp_path / "trace"
    fd = os.open(file, os.O_CREAT | os.O_WRONLY)
    try:
        with servers(at):
            summary = run_clients(plan(trace_fds=(fd,)), [CLIENT], at)
    finally:
        os.close(fd)
    fields = [("seq", "u8"), ("sched", "u8"), ("sent", "u8"), ("recv", "u8"), ("sid", "u4")]
    entries = np.fromfile(file, dtype=[*fields, ("clo", "u4")])
    assert len(entries) == summary.answered
    assert np.all(entries["recv"] >= entries["sent"])
    assert np.all(entries["sent"] >= entries["sched"])
    assert set(entries["seq"]) == set(range(summary.answered))


def test_full_disk_of_the_trace_is_an_error(loopback: Loopback) -> None:
    at = loopback(1)
    fd = os.open("/dev/full", os.O_WRONLY)
    try:
        with servers(at), pytest.raises(UserError, match="No space left"):
            run_clients(plan(trace_fds=(fd,)), [CLIENT], at)
    finally:
        os.close(fd)


def test_stopped_run_is_partial(loopback: Loopback) -> None:
    at = loopback(1)
    stop = Stop()
    timer = threading.Timer(0.3, stop.set)
    with servers(at):
        timer.start()
        summary = run_clients(plan(duration_s=20), [CLIENT], at, stop)
    assert summary.partial
    assert not summary.kept_schedule
    assert "stopped early" in summary.notes


def test_a_rate_beyond_the_machine_is_reported(loopback: Loopback) -> None:
    at = loopback(1)
    with servers(at):
        summary = run_clients(plan(rate_rps=50e6, duration_s=0.1), [CLIENT], at)
    assert not summary.kept_schedule
    assert summary.unsent > 0
    assert summary.offered_rps == pytest.approx(50e6, rel=0.01)


def test_one_request_a_second(loopback: Loopback) -> None:
    at = loopback(1)
    with servers(at):
        summary = run_clients(plan(arrivals=CONSTANT, rate_rps=1, duration_s=3.5), [CLIENT], at)
    assert summary.answered == summary.sent == 3
    assert summary.sent_gap.mean_ns == pytest.approx(1e9, rel=0.2)


def test_trace_of_gaps_keeps_its_shape(loopback: Loopback, tmp_path: Path) -> None:
    file = tmp_path / "gaps"
    file.write_text("1ms\n3ms\n")
    at = loopback(1)
    with servers(at):
        summary = run_clients(
            plan(arrivals=parse_arrivals(f"trace:{file}"), rate_rps=1000), [CLIENT], at
        )
    # Stretched to a mean of 1 ms: 0.5 and 1.5 ms in turn.
    assert summary.sched_gap.quantile_ns(0.3) == pytest.approx(0.5e6, rel=1e-3)
    assert summary.sched_gap.quantile_ns(0.7) == pytest.approx(1.5e6, rel=1e-3)


def test_a_clock_that_is_stepped_makes_the_run_partial() -> None:
    total = ClientSummary()
    note_clock(total, 5_000_000, kernel_timestamps=True)
    assert total.partial
    assert total.notes == ["the clock was stepped by 5.0 ms"]
    unharmed = ClientSummary()
    note_clock(unharmed, 5_000_000, kernel_timestamps=False)
    assert not unharmed.partial
    assert unharmed.notes
    note_clock(quiet := ClientSummary(), 1000, kernel_timestamps=True)
    assert not quiet.notes


@pytest.mark.parametrize(("scheme", "told"), [("netclone", True), ("baseline", False)])
def test_without_a_switch_that_clones_a_run_says_so(
    loopback: Loopback, scheme: str, told: bool
) -> None:
    at = loopback(2)
    with servers(at):
        summary = run_clients(plan(scheme), [CLIENT], at)
    assert summary.answered and not summary.of_cloned
    assert ("the switch cloned no request" in "; ".join(summary.notes)) == told


def test_errors(loopback: Loopback) -> None:
    (at,) = loopback(1)
    with pytest.raises(UserError, match="no answer from the server"):
        probe(CLIENT, [at])
    with servers([at]), pytest.raises(UserError, match="in use"):
        servers([at]).start()
    with pytest.raises(UserError, match="not an address of this machine"):
        servers([Endpoint("192.0.2.1", 1000)]).start()
    with pytest.raises(UserError, match="no network namespace"):
        servers([Endpoint("127.0.0.1", 0, Path("/run/netns/none-such"))]).start()
    with pytest.raises(UserError, match="not an IP address"):
        run_clients(plan(), [CLIENT], [Endpoint("localhost", 1)])
    with pytest.raises(UserError, match="unknown scheme 'clone'"):
        parse_schemes("baseline,clone")
    with pytest.raises(UserError, match="arrivals 'bursty:x', part 1"):
        parse_arrivals("bursty:x")
