# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `switch apply --target tofino` would write, against what the compiler says of the compiled
program (bf-rt.json): tables, keys, actions, parameters, widths, sizes, registers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from netclone_host.control import limits
from netclone_host.control.entries import Action, Key
from netclone_host.control.p4.plan import TOFINO, p4_plan
from netclone_host.control.p4.schema import Field, TableSchema, numbers_of
from netclone_host.control.p4.tofino import PREFIX, SCHEMAS
from tests.p4.racks import rack


class Described:
    """bf-rt.json."""

    def __init__(self, path: Path) -> None:
        tables = json.loads(path.read_text())["tables"]
        self.tables: dict[str, dict[str, Any]] = {table["name"]: table for table in tables}

    def check_entry(self, key: Key, action: Action) -> None:
        """Every name is known, and every number fits its width."""
        schema, table = SCHEMAS[key.table], self.tables[PREFIX + key.table]
        if key.match:
            self._check_fields(table["key"], schema.match, numbers_of(key.match, schema.match))
            assert {field["match_type"] for field in table["key"]} == {"Exact"}
        specs = {spec["name"]: spec for spec in table["action_specs"]}
        spec = specs[schema.full_action(action.name)]
        where = "DefaultOnly" if key.match else "TableOnly"
        assert spec["action_scope"] != where, key
        params = schema.actions.get(action.name, ())
        self._check_fields(spec["data"], params, numbers_of(action.params, params))

    @staticmethod
    def _check_fields(
        described: list[dict[str, Any]], fields: tuple[Field, ...], numbers: tuple[int, ...]
    ) -> None:
        assert [field["name"] for field in described] == [field.p4_name for field in fields]
        for field, number in zip(described, numbers, strict=True):
            width = field["type"].get("width", 32)
            assert 0 <= number < 1 << width, field


@pytest.fixture(scope="module")
def described(tofino_build: Path) -> Described:
    return Described(tofino_build / "bf-rt.json")


@pytest.mark.parametrize("n", [2, 6, 33, 256])
def test_every_entry_is_valid(described: Described, n: int) -> None:
    plan = p4_plan(rack(n, racksched=True, id=7), TOFINO)
    for key, action in plan.entries.items():
        described.check_entry(key, action)
    used = Counter(key.table for key in plan.entries if key.match)
    for table, count in used.items():
        assert count <= described.tables[PREFIX + table]["size"], table


@pytest.mark.parametrize(("table", "schema"), SCHEMAS.items(), ids=lambda value: str(value))
def test_schema_is_that_of_the_program(
    described: Described, table: str, schema: TableSchema
) -> None:
    found = described.tables[PREFIX + table]
    assert [field["name"] for field in found["key"]] == [f.p4_name for f in schema.match]
    specs = {spec["name"]: [p["name"] for p in spec["data"]] for spec in found["action_specs"]}
    for action, params in schema.actions.items():
        assert specs[schema.full_action(action)] == [param.p4_name for param in params]


@pytest.mark.parametrize(("table", "size"), limits.P4_TABLES.items())
def test_tables_are_as_large_as_the_control_plane_believes(
    described: Described, table: str, size: int
) -> None:
    (found,) = (name for name in described.tables if name.endswith(f".{table}"))
    assert described.tables[found]["size"] >= size


def test_registers_are_as_large_as_the_paper_says(described: Described) -> None:
    sizes = {
        name.removeprefix(f"{PREFIX}SwitchIngress."): table["size"]
        for name, table in described.tables.items()
        if table["table_type"] == "Register"
    }
    assert sizes["states.state"] == sizes["states.shadow_state"] == 256
    assert sizes["sequence.sequence"] == 1
    for index in range(limits.TOFINO_FILTER_TABLES):
        assert sizes[f"filter.filter_{index}.filter"] == limits.FILTER_SLOTS
