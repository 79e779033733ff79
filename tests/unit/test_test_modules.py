# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A test module is no library and holds one idea: what several share stands in a conftest file or
in a helper module, and no module of the tests has more than 400 lines."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
MODULES = sorted(TESTS.rglob("*.py"))
LONGEST = 400


def imported_by(path: Path) -> set[str]:
    """Last parts of the names of modules, and names that are imported out of them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
            found.add((node.module or "").rpartition(".")[2])
        elif isinstance(node, ast.Import):
            found |= {alias.name.rpartition(".")[2] for alias in node.names}
    return found


def test_nothing_is_imported_from_a_test_module() -> None:
    test_modules = {path.stem for path in MODULES if path.stem.startswith("test_")}
    assert {
        str(path): names for path in MODULES if (names := imported_by(path) & test_modules)
    } == {}


def test_no_module_is_long() -> None:
    lengths = {str(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
