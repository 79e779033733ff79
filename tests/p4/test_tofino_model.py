# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The compiled TNA program in Intel's Tofino model, on the conformance corpus: wherever there is
one. Its sources and its driver's are public (p4lang/open-p4studio), but no test can build them."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator

import pytest

from tests.conformance.playing import play
from tests.conformance.scenario import Scenario
from tests.p4 import tofino_model
from tests.p4.scenarios import SAME
from tests.p4.tofino_target import ModelTarget

MISSING = [name for name in tofino_model.PROGRAMS if shutil.which(name) is None]
MISSING += [] if importlib.util.find_spec("bfrt_grpc") else ["the Python module bfrt_grpc"]
MISSING += [] if "SDE_INSTALL" in os.environ else ["SDE_INSTALL"]


@pytest.fixture(scope="module")
def target(request: pytest.FixtureRequest) -> Iterator[ModelTarget]:
    if MISSING:
        pytest.skip(f"no Tofino model: {', '.join(MISSING)} missing")
    build = tofino_model.Build(request.getfixturevalue("tofino_build"))
    with tofino_model.running(build) as running:
        yield ModelTarget(running)


@pytest.mark.parametrize("scenario", SAME, ids=lambda scenario: scenario.name)
def test_model(target: ModelTarget, scenario: Scenario) -> None:
    play(target, scenario)
