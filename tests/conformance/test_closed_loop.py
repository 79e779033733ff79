# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The library and the oracle in a rack with a network that behaves badly."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from tests.conformance.closed_loop import Rack

RACKS = 12 * int(os.environ.get("NETCLONE_EXAMPLES", "1"))


def test_library_agrees_and_no_first_response_stops() -> None:
    counted: Counter[str] = Counter()
    deeper = "NETCLONE_EXAMPLES" in os.environ
    start = random.SystemRandom().getrandbits(32) if deeper else 0
    for seed in range(start, start + RACKS):
        rack = Rack(random.Random(seed))
        try:
            for _ in range(500):
                rack.turn()
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error}")
        counted += rack.counted
        rack.close()
    for name in (
        "cloned",
        "not_cloned",
        "probed",
        "response_first_clone",
        "filtered_slower_response",
    ):
        assert counted[f"ingress.{name}"] >= RACKS / 4, name
