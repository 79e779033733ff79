# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`rack run`: records whose numbers add up. How short the tail gets is benchmarked, not tested."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadgen.cli import main as loadgen
from loadgen.rack import report, scale
from loadgen.rack.run import run_rack
from loadgen.rack.run_options import parse_run_options
from loadgen.rack.scale import Calibration
from loadgen.rack.sweep import SweepSettings, runs
from loadgen.workload.records import RunRecord
from loadgen.workload.schemes import find_scheme
from loadgen.workload.services import parse_workload
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.rack import build
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import default_topology, make_plan
from netclone_host.rack.programs import Options
from tests.rack.asking import first_responses

from .commands import rack_command
from .conftest import random_rack_name

ASKED = {
    "schemes": "baseline,c-clone,netclone",
    "service": "exp:25us",
    "jitter": "0.01x15",
    "loads": "0.3",
    "duration": "1s",
    "warmup": "0.2s",
    "time_scale": 400.0,
    "seed": 1,
    "repeats": 1,
}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[RunRecord]:
    """Three schemes at one load, on a rack that is built and removed by the run."""
    name = random_rack_name()
    topology = default_topology(3, 2, 15)
    found = run_rack(name, topology, Options(), parse_run_options(**ASKED), None)
    assert not list(netns.NAMED.glob(f"{name}-*"))
    return found


def test_nothing_is_lost_and_everything_adds_up(records: list[RunRecord]) -> None:
    assert [record.scheme for record in records] == ["baseline", "c-clone", "netclone"]
    for record in records:
        assert record.sent > 500
        assert record.sent == record.answered
        assert (record.unanswered, record.send_errors, record.stale) == (0, 0, 0)
        assert not record.partial
        assert record.xdp_mode == "native"
        assert (record.servers, record.workers, record.clients) == (3, 45, 2)
        assert 0 < record.p50_us <= record.p99_us <= record.p999_us <= record.max_us
        assert record.offered_rps == pytest.approx((record.sent + record.unsent) / 1.0 * 400)


def test_only_c_clone_has_redundant_responses(records: list[RunRecord]) -> None:
    baseline, c_clone, netclone = records
    assert baseline.redundant == netclone.redundant == 0
    assert c_clone.redundant == c_clone.sent


def test_every_clone_is_dropped_or_its_response_filtered(records: list[RunRecord]) -> None:
    netclone = records[2].counters
    cloned = netclone["sw.ingress.cloned"]
    assert cloned > 500
    assert netclone["sw.clone.clone_sent"] == cloned
    assert first_responses(netclone) == cloned
    dropped = sum(netclone.get(f"s{i}.ingress.dropped_server_busy", 0) for i in (1, 2, 3))
    assert netclone["sw.ingress.filtered_slower_response"] + dropped == cloned
    # Every packet that reached the switch has one reason.
    seen = sum(n for name, n in netclone.items() if name.startswith("sw.ingress."))
    requests = cloned + netclone.get("sw.ingress.not_cloned", 0)
    responses = sum(netclone.get(f"s{i}.egress.response_stamped", 0) for i in (1, 2, 3))
    assert seen == requests + responses + netclone.get("sw.ingress.not_netclone", 0) + netclone.get(
        "sw.ingress.no_clone", 0
    )
    for record in records[:2]:
        assert record.cloned == record.filtered == record.clones_dropped == 0


def test_a_rack_that_is_up_is_used_and_left_up(rack_name: str, tmp_path: Path) -> None:
    build.up(make_plan(rack_name, default_topology(2, 1, 4)), Options())
    out = tmp_path / "records.json"
    done = rack_command(
        *("run", "--name", rack_name, "--schemes", "netclone", "--loads", "0.2"),
        *("--service", "const:50us", "--jitter", "none", "--duration", "300ms"),
        *("--time-scale", "300", "--json", str(out), "--out", str(tmp_path / "out")),
    )
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(out.read_text())
    assert record["unanswered"] == 0
    assert record["sent"] == record["answered"] > 0
    assert record["p50_us"] >= 50
    assert "netclone" in done.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["records"][0]["sent"] == record["sent"]
    assert (tmp_path / "out" / "latency.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "latency.csv").read_text().count("\n") == 2
    assert netns.is_namespace(f"{rack_name}-s1")


def test_a_rack_without_programs_is_refused(rack_name: str) -> None:
    build.up(make_plan(rack_name, default_topology(2, 1)), None)
    with pytest.raises(UserError, match="has no program attached"):
        run_rack(rack_name, None, Options(), parse_run_options(**ASKED), None)
    with pytest.raises(UserError, match="is not the one that the options describe"):
        run_rack(rack_name, default_topology(3, 1), Options(), parse_run_options(**ASKED), None)


def test_options_that_only_building_a_rack_heeds_are_refused_once_it_is_up(rack_name: str) -> None:
    build.up(make_plan(rack_name, default_topology(2, 1)), Options())
    done = rack_command("run", "--name", rack_name, "--mode", "generic")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        f"error: --mode comes too late: the rack '{rack_name}' is up"
    )
    swept = CliRunner().invoke(loadgen, ["sweep", "--rack", rack_name, "--servers", "3"])
    assert swept.exit_code == 2
    assert "is not the one that the options describe" in swept.output


def test_what_a_crash_left_is_removed_before_a_run_but_not_what_is_up(rack_name: str) -> None:
    plan = make_plan(rack_name, default_topology(2, 1))
    build.up(plan, None)
    assert not build.clear_crashed(rack_name)
    assert netns.is_namespace(plan.namespace("sw"))


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("schemes", "baseline,magic", "unknown scheme 'magic'"),
        ("service", "exp", "exp"),
        ("jitter", "1", "PxM"),
        ("loads", "0.3,x", "'x' is not a load"),
        ("loads", "0", "'0' is not a load"),
        ("loads", "2.5", "'2.5' is not a load"),
        ("duration", "5", "no unit"),
        ("time_scale", 0.5, "out of range"),
        ("time_scale", math.nan, "out of range"),
        ("repeats", 0, "--repeats 0 is out of range"),
    ],
)
def test_bad_options(option: str, value: object, error: str) -> None:
    with pytest.raises(UserError, match=error) as caught:
        parse_run_options(**{**ASKED, option: value})
    assert caught.value.hint


def test_an_output_that_cannot_be_written_is_found_before_the_run(rack_name: str) -> None:
    done = rack_command("run", "--name", rack_name, "--json", "/no/such/place/records.json")
    assert done.returncode == 2
    assert "there is no '/no/such/place'" in done.stderr


def test_runs_compare_schemes_close_in_time() -> None:
    settings = SweepSettings(
        schemes=(find_scheme("baseline"), find_scheme("netclone")),
        loads=(0.1, 0.2),
        duration_s=1,
        warmup_s=0,
        repeats=2,
    )
    order = [(run.repeat, run.load, run.scheme.name) for run in runs(settings, lambda x: 1e3 * x)]
    assert len(order) == settings.n_runs == 8
    assert order[:3] == [(0, 0.1, "baseline"), (0, 0.1, "netclone"), (0, 0.2, "baseline")]


def test_the_time_scale_keeps_the_busiest_run_below_what_the_machine_carries() -> None:
    workload = parse_workload("exp:25us", "0.01x15")

    def chosen(carried: float, scheme: str, load: float) -> float:
        return scale.choose_time_scale(
            Calibration(carried), workload, 90, [find_scheme(scheme)], [load]
        )

    def share(carried: float, scheme: str, load: float) -> float:
        found = chosen(carried, scheme, load)
        copies = scale.packets_per_request(find_scheme(scheme), load)
        return copies * workload.rate_rps(load, 6, 15, found) / carried

    assert 0.9 * scale.TARGET_SHARE < share(50_000, "baseline", 0.7) <= scale.TARGET_SHARE
    assert 0.9 * scale.TARGET_SHARE < share(50_000, "netclone", 0.7) <= scale.TARGET_SHARE
    # A run that is overloaded anyway may ask for more.
    assert 0.9 * scale.OVERLOADED_SHARE < share(50_000, "c-clone", 0.7) <= scale.OVERLOADED_SHARE
    # Half as fast a machine: twice the scale. Long services need none.
    ratio = chosen(25_000, "baseline", 0.7) / chosen(50_000, "baseline", 0.7)
    assert ratio == pytest.approx(2, rel=0.1)
    slow = parse_workload("exp:1s")
    assert (
        scale.choose_time_scale(Calibration(50_000), slow, 90, [find_scheme("baseline")], [0.7])
        == 1
    )
    assert [scale.round_up(x) for x in (1.0, 99.1, 101, 1234)] == [1, 100, 110, 1300]


def test_what_the_machine_carries_does_not_depend_on_who_else_uses_it() -> None:
    assert scale.carried(70_000, 20e-6, 2) == pytest.approx(70_000)  # alone
    assert scale.carried(30_000, 20e-6, 2) == pytest.approx(70_000)  # among others
    assert scale.carried(30_000, 20e-6, 1) == pytest.approx(35_000)
    assert scale.carried(10_000, 1e-6, 2) == 30_000  # the cost was not all counted
    assert scale.carried(10_000, 0.0, 2) == 10_000


def test_ratios_to_the_baseline() -> None:
    def record(scheme: str, load: float, p99_us: float) -> RunRecord:
        return RunRecord("rack", scheme, "", "", load, 1, 1, 1, 1, 0, 0, p99_us=p99_us)

    ratios = report.p99_ratios(
        [record("baseline", 0.3, 150), record("netclone", 0.3, 75), record("netclone", 0.5, 1)]
    )
    assert ratios == [{"load": 0.3, "scheme": "netclone", "ratio": 0.5}]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_takes_its_rack_down(rack_name: str, number: signal.Signals) -> None:
    command = ["rack", "run", "--name", rack_name, "--servers", "2", "--clients", "1"]
    # Tests in the background have been started with these ignored, and so would the run be.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        run = subprocess.Popen(
            [sys.executable, "-m", "netclone_host.cli", *command, "--time-scale", "400"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    finally:
        signal.signal(number, before)
    try:
        wait_until(lambda: Journal(rack_name).exists and Journal(rack_name).complete)
        time.sleep(0.5)
        run.send_signal(number)
        assert run.wait(30) in (1, 128 + number)
    finally:
        run.kill()
    assert not Journal(rack_name).exists
    assert not list(netns.NAMED.glob(f"{rack_name}-*"))


def wait_until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_window_in_which_nothing_is_due_is_a_record_too(tmp_path: Path) -> None:
    name = random_rack_name()
    asked = parse_run_options(
        **{**ASKED, "schemes": "baseline", "duration": "1ns", "warmup": "1ms"}
    )
    (record,) = run_rack(name, default_topology(2, 1, 1), Options(), asked, tmp_path / "out")
    assert record.sent == record.offered_rps == 0
    assert math.isnan(record.achieved_share)
    assert (tmp_path / "out" / "summary.json").exists()
    assert not list(netns.NAMED.glob(f"{name}-*"))
