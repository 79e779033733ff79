# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The simulator's compilation units call downwards only."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

SIM = Path(__file__).parents[2] / "loadgen/native/sim"
INCLUDE = re.compile(r'^#include "(\w+)\.h"', re.MULTILINE)


def test_no_unit_is_reached_from_below() -> None:
    uses = {
        unit.stem: {
            used
            for part in (unit, unit.with_suffix(".h"))
            if part.exists()
            for used in INCLUDE.findall(part.read_text())
            if used != unit.stem
        }
        for unit in SIM.glob("*.c")
    }
    order = list(TopologicalSorter(uses).static_order())  # raises CycleError
    assert order[-1] in {"run", "fault", "coordinator"}
    assert order.index("pool") < order.index("client") < order.index("rack") < order.index("server")


def test_each_unit_says_what_it_offers() -> None:
    for unit in SIM.glob("*.c"):
        own = "sim" if unit.stem == "run" else unit.stem
        assert f'#include "{own}.h"' in unit.read_text()
