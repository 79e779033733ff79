# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the compiled TNA program lies in the chip (the assembler's context.json): sizes, and which
stage does what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netclone_host.control import limits
from tests.p4 import p4_text
from tests.p4.p4_text import P4

CONTROL = "SwitchIngress."


class Context:
    def __init__(self, path: Path) -> None:
        tables = json.loads(path.read_text())["tables"]
        self.tables: dict[tuple[str, str], dict[str, Any]] = {
            (table["table_type"], table["name"].removeprefix(CONTROL)): table for table in tables
        }

    def stages(self, kind: str, name: str) -> list[int]:
        table = self.tables[kind, name]
        parts = table["match_attributes"] if kind == "match" else table
        return sorted({part["stage_number"] for part in parts["stage_tables"]})

    def stage(self, kind: str, name: str) -> int:
        """The one stage in which it lies."""
        (found,) = self.stages(kind, name)
        return found


@pytest.fixture(scope="module")
def context(tofino_build: Path) -> Context:
    return Context(tofino_build / "pipe" / "context.json")


@pytest.mark.parametrize(("table", "size"), limits.P4_TABLES.items())
def test_table_has_its_size(context: Context, table: str, size: int) -> None:
    (found,) = (
        entry
        for (kind, name), entry in context.tables.items()
        if kind == "match" and name.rpartition(".")[2] == table
    )
    assert found["size"] == size


def test_constant_entries_are_all_there(context: Context) -> None:
    """Of the table that says what a packet is: as many as the text has."""
    body = p4_text.text(P4 / "shared" / "candidate.p4")
    entries = body[body.index("const entries") :].split("}")[0].count(") : ")
    assert len(context.tables["match", "candidate.candidate"]["static_entries"]) == entries


def test_registers_have_their_sizes(context: Context) -> None:
    sizes = {
        name: table["size"] for (kind, name), table in context.tables.items() if kind == "stateful"
    }
    filters = {f"filter.filter_{n}.filter": limits.FILTER_SLOTS for n in range(2)}
    states = {"states.state": 256, "states.shadow_state": 256}
    assert sizes == {"sequence.sequence": 1, **states, **filters}


def test_stages_are_in_the_order_of_algorithm_1(context: Context) -> None:
    """A state is read before its shadow is compared with it, and both before the choice; an id is
    there before its slot is looked for."""
    state = context.stage("stateful", "states.state")
    shadow = context.stage("stateful", "states.shadow_state")
    candidate = context.stage("match", "candidate.candidate")
    assert context.stage("match", "admission.admission") < state < shadow < candidate
    for version in ("v4", "v6"):
        assert context.stage("match", f"address.addresses_{version}") > candidate
    slot = context.stage("match", "filter_slot.filter_slot")
    assert context.stage("stateful", "sequence.sequence") < slot
    counted = context.stage("statistics", "reasons")
    for n in range(2):
        assert slot < context.stage("stateful", f"filter.filter_{n}.filter") < counted
