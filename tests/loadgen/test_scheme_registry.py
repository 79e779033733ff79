# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A scheme is one entry of the registry: generator, rack, simulator and plots read it there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadgen.cli import main
from loadgen.plot.latency import points
from loadgen.plot.style import style
from loadgen.rack import scale
from loadgen.rack.run_options import parse_run_options
from loadgen.sim.model import Model, Point, RequestClass
from loadgen.sim.run import run_points
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.clients import run_clients
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.records import RunRecord
from loadgen.workload.schemes import (
    SCHEMES,
    Look,
    Party,
    Scheme,
    Simulated,
    Target,
    find_scheme,
    parse_schemes,
    register,
)
from loadgen.workload.services import parse_workload

NATIVE = Path(__file__).parents[2] / "loadgen/native"


@pytest.fixture
def toy() -> Iterator[Scheme]:
    """A scheme made of parts that exist: the client clones, as in c-clone."""
    scheme = Scheme("toy", Look("#123456", "x", (0, (1, 9))), Simulated.CCLONE, cloner=Party.CLIENT)
    register(scheme)
    yield scheme
    del SCHEMES["toy"]


def test_the_generator_sends_as_it_says(
    toy: Scheme, loopback: Callable[[int], list[Endpoint]]
) -> None:
    assert parse_schemes("baseline,toy") == [find_scheme("baseline"), toy]
    servers = loopback(2)
    with VirtualServers(
        [VirtualServer(at, i) for i, at in enumerate(servers)], parse_workload("const:1us")
    ):
        plan = ClientPlan(toy, rate_rps=500, duration_s=0.2)
        summary = run_clients(plan, [Endpoint("127.0.0.1", 0)], servers)
    assert summary.copies_sent == 2 * summary.sent > 0


def test_the_rack_takes_it(toy: Scheme) -> None:
    options = parse_run_options(
        schemes="toy", service="exp:25us", jitter="none", loads="0.3", duration="1s", warmup=None,
        time_scale=None, seed=1, repeats=1,
    )  # fmt: skip
    assert options.settings.schemes == (toy,)
    assert scale.packets_per_request(toy, 0.3) == 2


def test_the_simulator_takes_it(toy: Scheme) -> None:
    model = Model((RequestClass(parse_workload("exp:25us")),), workers=(2, 2))
    pair = [Point(model, name, 0.2, 1000, replications=1) for name in ("toy", "c-clone")]
    mine, same = run_points(pair, processes=1)
    assert mine.record().scheme == "toy"
    assert mine.record().p99_us == same.record().p99_us


def test_plots_know_its_look(toy: Scheme) -> None:
    record = RunRecord("rack", "toy", "", "", 0.3, 1, 1, 1, 1, 0, 0, p99_us=1)
    assert list(points([record], "p99_us")) == ["toy"]
    looks = style("toy")
    assert (looks["color"], looks["marker"], looks["linestyle"]) == ("#123456", "x", (0, (1, 9)))


def test_an_unknown_scheme_is_told_which_there_are(toy: Scheme) -> None:
    result = CliRunner().invoke(main, ["simulate", "--schemes", "none"])
    assert result.exit_code == 2
    assert result.output.splitlines()[1] == f"hint: known schemes: {', '.join(SCHEMES)}"
    assert "toy" in result.output


def test_no_name_is_taken_twice(toy: Scheme) -> None:
    with pytest.raises(ValueError, match="toy exists"):
        register(toy)


@pytest.mark.parametrize(
    ("mirror", "header", "prefix"),
    [(Target, "traffic/client.h", "LG_TARGET_"), (Simulated, "sim/sim.h", "SIM_")],
)
def test_numbers_are_those_of_the_c_code(mirror: type[IntEnum], header: str, prefix: str) -> None:
    enum = {Target: "lg_target", Simulated: "sim_scheme"}[mirror]
    found = re.search(rf"enum {enum} {{(.*?)}};", (NATIVE / header).read_text(), re.DOTALL)
    assert found is not None
    names = re.findall(rf"\b{prefix}(\w+)\b(?: = \d+)?,", found.group(1))
    assert [name for name in names if name != "SCHEMES"] == [entry.name for entry in mirror]
