# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`netclone-loadgen check`: it finds a generator that is off, names a machine that is, and does
not take the one for the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner

from loadgen.check import checks
from loadgen.check.checks import check_distributions, check_poisson, check_schedule
from loadgen.check.deviation import ATTEMPTS, Check, Verdict, disturbed, settle
from loadgen.cli import main
from loadgen.native.stalls import Stalls
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.client_summary import ClientSummary
from loadgen.traffic.clients import run_clients, schedule_gaps
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.arrivals import parse_arrivals
from loadgen.workload.schemes import find_scheme
from loadgen.workload.services import parse_workload

Loopback = Callable[[int], list[Endpoint]]

ON_TARGET = Check("rate", 100.0, 100.0, 1.0, "/s")
OFF = replace(ON_TARGET, value=110.0)
STALLED = replace(OFF, undisturbed=100.5, evidence="the machine stood still")


def stalls(held: int) -> Stalls:
    return Stalls(count=3, total_ns=9_000_000, longest_ns=4_000_000, held=held, held_ns=1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_distributions_and_schedule_pass_whatever_the_machine_does(seed: int) -> None:
    found = [*check_distributions(seed), *check_schedule(5000, seed)]
    assert [c.name for c in found if not c.passed] == []
    assert any("trace" in c.name for c in found)


@pytest.mark.parametrize("arrivals", ["constant", "bursty:4"])
def test_a_schedule_of_another_kind_is_found(
    arrivals: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(plan: ClientPlan, requests: int) -> object:
        return schedule_gaps(replace(plan, arrivals=parse_arrivals(arrivals)), requests)

    monkeypatch.setattr(checks, "schedule_gaps", other)
    rate, cv, ks = check_schedule(5000, 1)
    assert rate.verdict is Verdict.OK
    assert cv.verdict is ks.verdict is Verdict.GENERATOR


def test_the_rate_sent_is_that_of_its_schedule() -> None:
    rate, sent, arrived = check_poisson(rate_rps=2000, requests=4000, seed=1)
    assert rate.value == pytest.approx(rate.target, rel=0.05)
    assert rate.target == pytest.approx(2000, rel=0.08)
    assert sent.name != arrived.name


def test_verdicts() -> None:
    assert ON_TARGET.verdict is Verdict.OK
    assert OFF.verdict is Verdict.GENERATOR
    assert STALLED.verdict is Verdict.MACHINE
    # Stalls do not excuse what is off without them.
    assert replace(STALLED, undisturbed=103.0).verdict is Verdict.GENERATOR
    # Nor does one that held nothing.
    assert disturbed(OFF, 100.0, stalls(held=0), "sends").verdict is Verdict.GENERATOR
    assert disturbed(OFF, 100.0, stalls(held=5), "sends").verdict is Verdict.MACHINE


def test_what_the_machine_disturbed_is_measured_again_and_all_is_reported() -> None:
    results = iter([[STALLED], [ON_TARGET]])
    first, second = settle(lambda: next(results))
    assert (first.superseded, first.attempt, first.verdict) == (True, 1, Verdict.MACHINE)
    assert (second.superseded, second.attempt, second.verdict) == (False, 2, Verdict.OK)


def test_a_machine_that_never_rests_is_not_excused() -> None:
    found = list(settle(lambda: [STALLED]))
    assert len(found) == ATTEMPTS
    assert [c.superseded for c in found] == [True] * (ATTEMPTS - 1) + [False]


def test_what_is_the_generators_doing_is_not_measured_again() -> None:
    assert len(list(settle(lambda: [STALLED, OFF]))) == 2


@pytest.mark.parametrize(
    ("result", "status", "word"), [(ON_TARGET, 0, "ok"), (OFF, 4, "FAIL"), (STALLED, 3, "STALL")]
)
def test_exit_status_and_words(
    result: Check, status: int, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only(*_: object) -> Iterator[Check]:
        yield replace(OFF, superseded=True)
        yield result

    monkeypatch.setattr("loadgen.cli.check.all_checks", only)
    done = CliRunner().invoke(main, ["check"])
    assert done.exit_code == status
    lines = done.output.splitlines()
    assert lines[1].startswith(word)
    assert (len(lines) == 3) == (result is STALLED)


SPIN_HERE = """
import os
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
print("here", flush=True)
while 1: pass
"""


def client(at: Endpoint, rate_rps: float, stall_at_s: float) -> ClientSummary:
    """A keen client for 1.5 s, all of it on one processor, which another program of a higher
    real-time priority has for 60 ms at least."""
    plan = ClientPlan(find_scheme("baseline"), rate_rps, 1.5, quiet_s=0.2, keen=True)
    found: list[ClientSummary] = []
    core = min(os.sched_getaffinity(0))

    def run() -> None:
        os.sched_setaffinity(0, {core})
        found.append(run_clients(plan, [Endpoint("127.0.0.1", 0)], [at]))

    with VirtualServers([VirtualServer(at, 0)], parse_workload("const:1us")):
        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(stall_at_s)
        command = ["taskset", "-c", str(core), sys.executable, "-c", SPIN_HERE]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as hog:
            assert hog.stdout is not None
            hog.stdout.readline()
            time.sleep(0.06)
            os.kill(hog.pid, signal.SIGKILL)
        thread.join()
    return found[0]


def test_a_stall_is_seen_named_and_told_apart(loopback: Loopback) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: real-time priority")
    (at,) = loopback(1)

    summary = client(at, 2000, 0.6)
    assert summary.stalls.longest_ns > 20e6
    assert summary.stalls.held > 20
    assert summary.waited_ns > 20e6
    assert summary.sent_gap.cv > summary.unheld_gap.cv + 0.1
    assert summary.unheld_gap.cv == pytest.approx(summary.sched_gap.cv, rel=0.1)
    assert "the machine stood still" in "; ".join(summary.notes)


def test_a_generator_that_is_too_slow_cannot_blame_the_machine(loopback: Loopback) -> None:
    """At a rate beyond its reach nearly all is late, and hardly any of it because of stalls."""
    (at,) = loopback(1)
    plan = ClientPlan(find_scheme("baseline"), 3e6, 0.3, quiet_s=0.2, keen=True)
    with VirtualServers([VirtualServer(at, 0)], parse_workload("const:1us")):
        summary = run_clients(plan, [Endpoint("127.0.0.1", 0)], [at])
    assert summary.late_sends > 0.9 * summary.sent
    assert summary.stalls.held < 0.7 * summary.sent


def test_one_stall_does_not_excuse_a_generator_that_is_too_slow(loopback: Loopback) -> None:
    """All that it sends afterwards was due long before, and late all the same."""
    if os.geteuid() != 0:
        pytest.skip("needs root: real-time priority")
    (at,) = loopback(1)
    summary = client(at, 3e6, 0.3)
    assert summary.stalls.longest_ns > 20e6
    assert summary.late_sends > 0.9 * summary.sent
    assert summary.stalls.held < 0.7 * summary.sent
