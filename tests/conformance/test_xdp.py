# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The XDP and tc programs on real ports, by both loaders, on the corpus."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from netclone_host.attach.roles import Role
from netclone_host.kernel.xdp import XdpMode
from tests.conformance.playing import play
from tests.conformance.runners.xdp import LONGEST_FRAME, Xdp
from tests.conformance.scenario import Scenario, corpus

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: XDP, namespaces")


def fits(scenario: Scenario) -> bool:
    """Frames longer than a native XDP frame are the native library's and the oracle's."""
    return all(len(step.frame) <= LONGEST_FRAME for step in scenario.steps)


SCENARIOS = [scenario for scenario in corpus() if fits(scenario)]
CASES = [
    (loader, mode, scenario)
    for loader, mode in (
        ("libbpf", XdpMode.NATIVE),
        ("bcc", XdpMode.NATIVE),
        ("libbpf", XdpMode.GENERIC),
    )
    for scenario in SCENARIOS
]


@pytest.fixture(scope="module")
def targets() -> Iterator[dict[tuple[str, str, XdpMode], Xdp]]:
    made: dict[tuple[str, str, XdpMode], Xdp] = {}
    yield made
    for target in made.values():
        target.close()


@pytest.mark.parametrize(
    ("loader", "mode", "scenario"),
    CASES,
    ids=[f"{loader}-{mode}-{scenario.name}" for loader, mode, scenario in CASES],
)
def test_xdp(
    targets: dict[tuple[str, str, XdpMode], Xdp], loader: str, mode: XdpMode, scenario: Scenario
) -> None:
    key = (loader, scenario.role, mode)
    if key not in targets:
        targets[key] = Xdp(Role(scenario.role), loader, mode)
    play(targets[key], scenario)
