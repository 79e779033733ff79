# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The C logic as an ordinary library, on the corpus."""

from __future__ import annotations

import pytest

from tests.conformance.playing import play
from tests.conformance.runners.native import Native
from tests.conformance.scenario import Scenario, corpus


@pytest.fixture(scope="module")
def native() -> Native:
    return Native()


@pytest.mark.parametrize("scenario", list(corpus()), ids=lambda scenario: scenario.name)
def test_native(native: Native, scenario: Scenario) -> None:
    play(native, scenario)
