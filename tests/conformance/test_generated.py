# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The C logic as an ordinary library, against the oracle, on generated scenarios.

NETCLONE_EXAMPLES multiplies the number of examples (make fuzz: deeper).
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.generated import check, scenarios
from tests.conformance.runners.native import Native

EXAMPLES = int(os.environ.get("NETCLONE_EXAMPLES", "1"))


@pytest.mark.parametrize("role", ["switch", "server", "client"])
def test_native_agrees_with_oracle(role: str) -> None:
    target = Native()

    @settings(
        max_examples=120 * EXAMPLES,
        deadline=None,
        derandomize=EXAMPLES == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        check(target, data.draw(scenarios(role)))

    run()
