# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A file holds one idea and a function one step: no production file above 400 lines, no function
above 60, from its first line (in C with its signature) to its last brace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_FILE, LONGEST_FUNCTION = 400, 60

PYTHON = [
    path
    for package in ("netclone_host", "loadgen", "p4")
    for path in sorted((ROOT / package).rglob("*.py"))
]
C = [
    path
    for directory in ("xdp", "loadgen/native")
    for pattern in ("*.c", "*.h")
    for path in sorted((ROOT / directory).rglob(pattern))
]
P4 = sorted((ROOT / "p4").rglob("*.p4"))

# In both the braces of a function's body, and of no other, are where its first line starts. A
# parser state of P4 is not counted: it is as long as the list of values that it tells apart.
C_BODY = re.compile(r"^\{\n.*?^\}", re.MULTILINE | re.DOTALL)
P4_BODY = re.compile(
    r"^(?P<indent> *)(?:action|apply)\b[^;{}]*\{\n.*?^(?P=indent)\}",
    re.MULTILINE | re.DOTALL,
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python_functions(text: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield node.name, node.end_lineno - node.lineno + 1


def c_functions(text: str) -> Iterator[tuple[str, int]]:
    for body in C_BODY.finditer(text):
        # The signature starts after the last line that is empty or ends something else.
        before = re.split(r"\n\s*\n|[;}/]\n", text[: body.start()])[-1].strip("\n")
        lines = [line for line in before.splitlines() if not line.startswith("#")]
        yield " ".join(lines), len(lines) + body[0].count("\n") + 1


def p4_functions(text: str) -> Iterator[tuple[str, int]]:
    for body in P4_BODY.finditer(text):
        yield body[0].splitlines()[0].strip(), body[0].count("\n") + 1


FUNCTIONS = {".py": python_functions, ".c": c_functions, ".h": c_functions, ".p4": p4_functions}


@pytest.mark.parametrize("path", [*PYTHON, *C, *P4], ids=name_of)
def test_sizes(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= LONGEST_FILE
    found = FUNCTIONS[path.suffix](text)
    assert [(name, lines) for name, lines in found if lines > LONGEST_FUNCTION] == []


def test_functions_are_found_in_every_language() -> None:
    lengths = {
        suffix: [n for path in paths for _, n in FUNCTIONS[suffix](path.read_text())]
        for suffix, paths in ((".py", PYTHON), (".c", C), (".p4", P4))
    }
    assert all(len(found) > 50 and max(found) > 20 for found in lengths.values()), {
        suffix: (len(found), max(found, default=0)) for suffix, found in lengths.items()
    }
