# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The advisor against what is known, and its command line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loadgen.advise.handshake import Handshake, mean_s
from loadgen.advise.question import Question
from loadgen.advise.threshold import find_threshold, simulated_thresholds
from loadgen.advise.trace import analyse
from loadgen.cli import main
from loadgen.sim.run import run_points
from loadgen.workload.services import parse_workload

RUN = partial(run_points, processes=1)


def question(service: str, servers: int = 20, **given: Any) -> Question:
    return Question(parse_workload(service), servers, **{"requests": 100_000, **given})


def run_cli(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["advise", *arguments], catch_exceptions=False)
    return result.exit_code, result.output


@pytest.mark.parametrize(("copies", "load"), [(2, 1 / 3), (3, 1 / 4), (4, 1 / 5)])
def test_exponential_is_analytic(copies: int, load: float) -> None:
    for metric in ("mean", "p99"):
        found = find_threshold(question("exp:25us", copies=copies), RUN, metric)
        assert found.load == load and found.method.startswith("analytic")


def test_deterministic_is_the_published_value() -> None:
    found = find_threshold(question("const:25us"), RUN)
    assert found.load == pytest.approx(0.2582, abs=1e-4)
    assert found.method.startswith("analytic")


def test_simulation_agrees_with_what_is_known() -> None:
    exponential, deterministic = simulated_thresholds(
        [question("exp:25us", 40), question("const:25us", 20)], RUN
    )
    assert exponential.load == pytest.approx(1 / 3, abs=0.015)
    assert deterministic.load == pytest.approx(0.2582, abs=0.015)


def test_more_variance_raises_the_threshold_below_one_half() -> None:
    services = ["lognormal:0.3:25us", "exp:25us", "pareto:2.1:25us"]
    found = simulated_thresholds([question(x) for x in services], RUN)
    loads = [t.load or 0.0 for t in found]
    assert loads == sorted(loads) and loads[0] > 0.25 and loads[-1] < 0.5
    assert all(t.method == "simulated" for t in found)


@pytest.mark.parametrize("service", ["exp:25us", "const:25us", "pareto:2.1:25us"])
def test_no_threshold_when_the_overhead_is_the_mean(service: str) -> None:
    assert find_threshold(question(service, overhead_ns=25e3), RUN).load is None


def test_overhead_lowers_the_threshold() -> None:
    cheap = find_threshold(question("exp:25us", overhead_ns=2.5e3), RUN).load
    dear = find_threshold(question("exp:25us", overhead_ns=10e3), RUN).load
    assert cheap is not None and dear is not None and 0 < dear < cheap < 1 / 3
    simulated = simulated_thresholds([question("exp:25us", 60, overhead_ns=2.5e3)], RUN)[0].load
    assert simulated == pytest.approx(cheap, abs=0.02)


def test_json_of_advise(tmp_path: Path) -> None:
    trace = tmp_path / "times.txt"
    trace.write_text("".join(f"{10 + 5 * (i % 7)}us\n" for i in range(200)))
    common = ("--requests", "20000", "--processes", "1", "--json", "-")
    status, output = run_cli(
        "--service", "exp:25us", "--servers", "6", "--workers", "1", "--copies", "2", *common
    )
    found = json.loads(output)
    assert status == 0
    assert found["threshold_load"] == pytest.approx(1 / 3)
    assert found["threshold_method"].startswith("analytic")
    assert found["threshold_load_simulated"] == pytest.approx(1 / 3, abs=0.04)
    status, output = run_cli(
        "--service", f"trace:{trace}", "--workers", "4", "--load", "0.3", *common
    )
    found = json.loads(output)
    assert status == 0 and found["threshold_method"] == "simulated"
    low, high = found["threshold_bracket"]
    assert low <= found["threshold_load"] <= high <= 0.5
    assert {p["scheme"] for p in found["predictions"]} >= {"baseline", "c-clone", "netclone"}
    assert all(p["load"] == 0.3 and p["mean_us"] > 0 for p in found["predictions"])
    assert found["advice"]


def test_plot_on_request(tmp_path: Path) -> None:
    target = tmp_path / "advice.png"
    arguments = ("--service", "exp:25us", "--load", "0.2", "--requests", "10000")
    assert run_cli(*arguments, "--processes", "1", "--plot", str(target))[0] == 0
    assert target.read_bytes().startswith(b"\x89PNG")


def test_handshake() -> None:
    status, output = run_cli("handshake", "--json", "-")
    found = json.loads(output)
    assert status == 0
    # (3 s + 3 s + 3 x 50 ms) x (0.0048 - 0.0007), and a little for repeated losses.
    assert found["mean_saving_ms"] == pytest.approx(6150 * 0.0041, rel=0.03)
    assert found["mean_saving_ms"] >= 25
    assert found["document"] == {"mean_saving_ms": 25.0, "p999_saving_ms": 880.0}
    assert "99.9th percentile" in found["explanation"]
    independent = json.loads(run_cli("handshake", "--independent", "--json", "-")[1])
    assert independent["pair_loss"] == pytest.approx(0.0048**2)
    assert independent["p999_saving_ms"] >= 880


def test_handshake_times_are_a_distribution() -> None:
    times = Handshake().distribution(0.1)
    assert sum(times.values()) == pytest.approx(1, abs=1e-6)
    assert mean_s(Handshake().distribution(0.0)) == pytest.approx(0.075)


def test_redundancy_from_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "dns.csv"
    rows = [f"{20 + i % 10},{30 + i % 5},lost" if i % 10 else "900,40ms,50" for i in range(1000)]
    trace.write_text("near,far,broken\n" + "\n".join(rows) + "\n")
    found = analyse(trace, [500.0, 1500.0])
    one, two, three = found["copies"]
    assert one["services"] == ("far",)  # the smallest mean: it is never late
    assert one["later"]["500"] == 0
    assert two["mean_ms"] < one["mean_ms"] and three["mean_ms"] <= two["mean_ms"]
    alone = tmp_path / "one.csv"
    alone.write_text("\n".join("1000" if i % 10 == 0 else "20" for i in range(1000)))
    found = analyse(alone, [500.0], services=4)
    late = [c["later"]["500"] for c in found["copies"]]
    assert late == pytest.approx([0.1, 0.01, 0.001, 0.0001])
    assert found["copies_for_mean"] == 3 and found["copies_for_p99"] == 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "no service times"),
        (("--service", "exp:0us"), "exp"),
        (("--service", "exp:25us", "--copies", "1"), "--copies"),
        (("--service", "exp:25us", "--servers", "2", "--copies", "3"), "3 copies"),
        (("--service", "exp:25us", "--load", "2"), "--load"),
        (("--service", "exp:25us", "--client-overhead", "5"), "--client-overhead"),
        (("--service", "trace:/nonexistent"), "nonexistent"),
        (("handshake", "--loss", "2"), "--loss"),
        (("handshake", "--loss", "0.001", "--pair-loss", "0.1"), "more often"),
        (("redundancy", "--trace", "/nonexistent"), "nonexistent"),
    ],
)
def test_errors_are_a_sentence(arguments: tuple[str, ...], word: str) -> None:
    status, output = run_cli(*arguments)
    assert status == 2
    assert word in output and "hint:" in output and "Traceback" not in output
