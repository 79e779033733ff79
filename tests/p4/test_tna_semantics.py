# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The TNA program, interpreted as p4c's front end leaves it (tests/p4/tna_interpreter), on the
conformance corpus. A scenario that it plays otherwise by design must fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.playing import play
from tests.conformance.scenario import Scenario
from tests.p4 import tna_rules
from tests.p4.conftest import Build
from tests.p4.report_module import report
from tests.p4.scenarios import SAME, SCENARIOS
from tests.p4.tna_interpreter.pipeline import Pipeline
from tests.p4.tna_interpreter.target import TnaTarget


@pytest.fixture(scope="module")
def target(tofino_build: Path) -> TnaTarget:
    return TnaTarget(Pipeline(report.front_end_dump(tofino_build)))


@pytest.fixture(scope="module")
def wide(tofino_builds: Build) -> TnaTarget:
    return TnaTarget(Pipeline(report.front_end_dump(tofino_builds("wide fingerprints"))))


WIDE = [scenario for scenario in SCENARIOS if not tna_rules.difference(scenario, wide=True)]
OTHERWISE = [scenario for scenario in SCENARIOS if tna_rules.difference(scenario)]


@pytest.mark.parametrize("scenario", SAME, ids=lambda scenario: scenario.name)
def test_as_the_oracle(target: TnaTarget, scenario: Scenario) -> None:
    play(target, scenario)


@pytest.mark.parametrize("scenario", OTHERWISE, ids=lambda scenario: scenario.name)
def test_documented_difference_is_one(target: TnaTarget, scenario: Scenario) -> None:
    """What the list of differences excuses, the program really does otherwise."""
    with pytest.raises(AssertionError):
        play(target, scenario)


@pytest.mark.parametrize("scenario", WIDE, ids=lambda scenario: scenario.name)
def test_wide_fingerprints_as_the_oracle(wide: TnaTarget, scenario: Scenario) -> None:
    play(wide, scenario)


def test_most_of_the_corpus_is_played() -> None:
    assert len(SAME) >= 0.8 * len(SCENARIOS)
