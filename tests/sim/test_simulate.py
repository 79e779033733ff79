# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Schemes, faults and limits of the simulator, and its command line."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loadgen.cli import main
from loadgen.cli.simulate import parse_outage
from loadgen.sim.model import Fault, Model, Point, RequestClass
from loadgen.sim.native import FaultKind
from loadgen.sim.run import run_points
from loadgen.workload.records import read_json
from loadgen.workload.schemes import SCHEMES
from loadgen.workload.services import parse_workload
from tests.sim.conftest import queue_model, simulate_point

PAPER = Model(classes=(RequestClass(parse_workload("exp:25us", "0.01x15")),))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_request_is_answered_once(scheme: str) -> None:
    result = simulate_point(PAPER, scheme, 0.2, 50_000)
    assert result.count("sent") == result.count("answered") == 50_000
    assert result.count("lost") == result.count("delivered_twice") == 0
    assert result.latency.count == 50_000


def test_netclone_filters_every_slower_response() -> None:
    result = simulate_point(PAPER, "netclone", 0.3, 100_000)
    both_served = result.count("cloned") - result.count("clones_refused")
    assert result.count("slipped") == 0
    assert result.count("filtered") == pytest.approx(both_served, rel=0.01)
    assert result.count("cloned") > 90_000


def test_small_filter_tables_let_some_slip() -> None:
    small = replace(PAPER, filter_tables=1, filter_slots_log2=4)
    result = simulate_point(small, "netclone", 0.5, 100_000)
    assert result.count("slipped") > 1000
    assert result.count("delivered_twice") == 0  # the client's program catches them
    assert result.count("answered") == 100_000


def test_cloning_helps_where_the_paper_says() -> None:
    """Section 5: better tails than the baseline at moderate load, C-Clone overloaded."""
    p99 = {
        (scheme, load): simulate_point(PAPER, scheme, load, 100_000).estimate_us("p99").value
        for scheme in ("baseline", "c-clone", "netclone")
        for load in (0.2, 0.6)
    }
    assert p99["netclone", 0.2] < 0.6 * p99["baseline", 0.2]
    assert p99["c-clone", 0.2] <= 1.05 * p99["netclone", 0.2]
    assert p99["c-clone", 0.6] > 3 * p99["baseline", 0.6]


def test_reserve_rule_at_high_load() -> None:
    best = min(
        simulate_point(PAPER, scheme, 0.9, 400_000).latency.mean_ns
        for scheme in ("baseline", "racksched", "netclone", "netclone+racksched")
    )
    assert simulate_point(PAPER, "netclone+reserve", 0.9, 400_000).latency.mean_ns < best


def test_coordinator_is_the_bottleneck() -> None:
    slow = replace(PAPER, coordinator_ns=1000.0)
    result = simulate_point(slow, "laedge", 0.5, 50_000)
    # At least one packet in, one out, one in, one out for a request.
    assert result.achieved_rps < 1e9 / 4000 * 1.01


def test_loss_is_counted() -> None:
    result = simulate_point(replace(PAPER, loss=0.01), "baseline", 0.3, 100_000)
    lost = 1 - 0.99**4  # four links
    assert result.count("lost") == pytest.approx(100_000 * lost, rel=0.1)
    assert result.count("sent") == result.count("answered") + result.count("lost")
    cloned = simulate_point(replace(PAPER, loss=0.01), "netclone", 0.3, 100_000)
    # A clone mends what is lost behind the switch: what is left is mostly the first link.
    assert cloned.count("lost") < 0.7 * result.count("lost")


@pytest.mark.parametrize("scheme", ["baseline", "laedge", "netclone", "netclone+reserve"])
def test_a_server_that_stops_and_returns(scheme: str) -> None:
    outage = (
        Fault(0.002, FaultKind.SERVER_DOWN, 0),
        Fault(0.004, FaultKind.SERVER_UP, 0),
    )
    result = simulate_point(
        replace(PAPER, faults=outage, coordinator_timeout_ns=1e6), scheme, 0.2, 100_000
    )
    assert result.count("packets_lost") > 0
    assert result.count("lost") < 0.1 * 100_000
    assert result.count("sent") == result.count("answered") + result.count("lost")


def test_failure_detection_steers_around_a_stopped_server() -> None:
    outage = (Fault(0.001, FaultKind.SERVER_DOWN, 0),)
    blind = simulate_point(replace(PAPER, faults=outage), "netclone", 0.2, 100_000)
    seeing = replace(PAPER, faults=outage, server_timeout_ns=3e5)
    steered = simulate_point(seeing, "netclone", 0.2, 100_000)
    assert steered.count("lost") < 0.5 * blind.count("lost")


def test_a_switch_restart_in_time() -> None:
    outage = (
        Fault(0.005, FaultKind.SWITCH_DOWN, 0),
        Fault(0.010, FaultKind.SWITCH_UP, 0),
    )
    point = Point(
        replace(PAPER, faults=outage), "netclone", 0.2, 20_000, 1, 3, 0.001, timeline_buckets=20
    )
    [result] = run_points([point], processes=1)
    timeline = result.replications[0].timeline
    assert len(timeline) == 20
    assert sum(timeline[6:10]) == 0
    assert min(timeline[1:5]) > 300 and min(timeline[11:20]) > 300


def test_several_racks() -> None:
    result = simulate_point(replace(PAPER, racks=3, clients=6), "netclone", 0.3, 50_000)
    assert result.count("answered") == 50_000
    assert result.count("filtered") > 0 and result.count("packets_lost") == 0
    one_rack = simulate_point(PAPER, "netclone", 0.3, 50_000)
    assert result.estimate_us("mean").value > one_rack.estimate_us("mean").value + 1


def test_many_clients_and_unequal_workers() -> None:
    model = replace(PAPER, clients=500, workers=(15, 15, 15, 8, 8, 8))
    result = simulate_point(model, "netclone+racksched", 0.5, 50_000)
    assert result.count("answered") == 50_000


def test_in_flight_counting_decides_like_the_application() -> None:
    told = simulate_point(PAPER, "netclone", 0.5, 100_000)
    counted = simulate_point(replace(PAPER, count_in_flight=True), "netclone", 0.5, 100_000)
    assert counted.estimate_us("p99").value == pytest.approx(
        told.estimate_us("p99").value, rel=0.05
    )


def test_writes_are_never_cloned() -> None:
    workload = parse_workload("exp:25us")
    model = replace(
        PAPER,
        classes=(RequestClass(workload, 0.5), RequestClass(workload, 0.5, no_clone=True)),
    )
    result = simulate_point(model, "netclone", 0.1, 50_000)
    assert result.count("cloned") == pytest.approx(25_000, rel=0.05)


def test_shared_service_times_leave_only_the_jitter_to_mask() -> None:
    alone = simulate_point(queue_model("exp:25us", (64,) * 2), "baseline", 0.05)
    shared = simulate_point(
        queue_model("exp:25us", (64,) * 2, shared_service=True), "c-clone", 0.05
    )
    assert shared.latency.mean_ns == pytest.approx(alone.latency.mean_ns, rel=0.02)


def test_results_do_not_depend_on_processes() -> None:
    points = [Point(PAPER, s, 0.4, 20_000, 4, 5) for s in ("netclone", "laedge")]
    one, two = run_points(points, processes=1), run_points(points, processes=2)
    assert [r.record() for r in one] == [r.record() for r in two]
    again = Point(PAPER, "netclone", 0.4, 20_000, 4, 6)
    assert run_points([again], processes=1)[0].latency.sum != one[0].latency.sum


# ---- command line ----


def run_cli(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["simulate", *arguments], catch_exceptions=False)
    return result.exit_code, result.output


def test_json_on_standard_output(tmp_path: Path) -> None:
    arguments = (
        *("--schemes", "baseline,netclone", "--servers", "4", "--workers", "2"),
        *("--service", "exp:25us", "--jitter", "0.01x15", "--loads", "0.2,0.5"),
        *("--requests", "20000", "--seed", "3", "--processes", "1"),
    )
    status, output = run_cli(*arguments, "--json", "-")
    records: list[dict[str, Any]] = json.loads(output)
    assert status == 0
    assert [(r["scheme"], r["load"]) for r in records] == [
        (scheme, load) for scheme in ("baseline", "netclone") for load in (0.2, 0.5)
    ]
    for r in records:
        assert r["source"] == "simulator" and r["xdp_mode"] == "simulated"
        assert r["sent"] == r["answered"] == 20_000
        assert 0 < r["p50_us"] < r["p99_us"] < r["p999_us"] <= r["max_us"]
        assert r["half_widths"]["p99_us"] > 0 and r["replications"] == 10
    target = tmp_path / "out.json"
    assert run_cli(*arguments, "--json", str(target))[0] == 0
    assert json.loads(target.read_text()) == records  # to the byte, run again
    assert len(read_json(target)) == 4


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--schemes", "magic"), "magic"),
        (("--service", "exp:25"), "unit"),
        (("--jitter", "2x15"), "probability"),
        (("--loads", "0.1,x"), "--loads"),
        (("--loads", "-1"), "load"),
        (("--servers", "0"), "--servers"),
        (("--servers", "300"), "--servers"),
        (("--workers", "15,15"), "--workers"),
        (("--schemes", "netclone", "--servers", "1"), "two servers"),
        (("--requests", "0"), "--requests"),
        (("--loss", "1.5"), "--loss"),
        (("--filter-slots", "100"), "power of two"),
        (("--outage", "server:9@1ms-2ms"), "server 9"),
        (("--outage", "server:1@5ms-2ms"), "ends before"),
        (("--scheduler", "nowhere:1"), "Dask"),
        (("--json", "/nonexistent/x.json", "--requests", "1000"), "cannot write"),
    ],
)
def test_errors_are_a_sentence(arguments: tuple[str, ...], word: str) -> None:
    status, output = run_cli(*arguments)
    assert status == 2
    assert word in output and "hint:" in output and "Traceback" not in output


def test_outages() -> None:
    faults = parse_outage("switch:0@5ms-20ms")
    assert [f.kind for f in faults] == [FaultKind.SWITCH_DOWN, FaultKind.SWITCH_UP]
    assert [f.at_s for f in faults] == pytest.approx([0.005, 0.020])
    assert len(parse_outage("server:1@5ms")) == 1


def test_half_width_of_one_replication_is_unknown() -> None:
    result = simulate_point(PAPER, "baseline", 0.2, 5000, replications=1)
    assert math.isnan(result.estimate_us("mean").half_width)
