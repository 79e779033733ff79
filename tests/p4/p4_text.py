# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads declarations out of P4 and C text, for the tests that need no compiler."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
P4 = ROOT / "p4"
C = ROOT / "xdp" / "include" / "netclone"

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@cache
def text(path: Path) -> str:
    """Without comments."""
    return _COMMENT.sub("", path.read_text())


@cache
def everything(directory: str) -> str:
    """Every file of p4/shared and of one architecture."""
    paths = sorted((P4 / "shared").glob("*.p4")) + sorted((P4 / directory).glob("*.p4"))
    return "\n".join(text(path) for path in paths)


def constants(source: str) -> dict[str, int]:
    """const bit<n> NAME = value; for values that are expressions of earlier ones too."""
    known: dict[str, int] = {}
    for name, expression in re.findall(r"const\s+[\w<>]+\s+(\w+)\s*=\s*([^;]+);", source):
        words = re.sub(r"\b\d+w(?=\d)", "", expression)
        if re.fullmatch(r"[\w\s<>|&+*()x-]+", words):
            try:
                known[name] = int(eval(words, {"__builtins__": {}}, dict(known)))
            except (NameError, SyntaxError):
                continue
    return known


def macros(source: str) -> dict[str, int]:
    """#define NAME number"""
    found = re.findall(r"#define\s+(\w+)\s+(\d+)\b", source)
    return {name: int(value) for name, value in found}


def header(source: str, name: str) -> list[tuple[str, int]]:
    """Fields of a P4 header and their widths in bits."""
    body = re.search(rf"header\s+{name}\s*\{{(.*?)\}}", source, re.DOTALL)
    assert body, name
    return [(field, int(bits)) for bits, field in re.findall(r"bit<(\d+)>\s+(\w+);", body[1])]


_KEY = re.compile(r"([\w.]+(?:\(\))?(?:\[\d+:\d+\])?)\s*:\s*\w+;")


@dataclass(frozen=True)
class Table:
    keys: tuple[str, ...]
    actions: tuple[str, ...]
    size: str


def tables(source: str) -> dict[str, Table]:
    """Every table by its name."""
    found = {}
    for name, body in re.findall(r"table\s+(\w+)\s*\{(.*?)\n    \}", source, re.DOTALL):
        keys = re.search(r"key\s*=\s*\{(.*?)\}", body, re.DOTALL)
        actions = re.search(r"actions\s*=\s*\{(.*?)\}", body, re.DOTALL)
        size = re.search(r"size\s*=\s*(\w+);", body)
        found[name] = Table(
            tuple(
                re.findall(r"([\w.]+(?:\(\))?(?:\[\d+:\d+\])?)\s*:\s*\w+;", keys[1] if keys else "")
            ),
            tuple(re.findall(r"(\w+);", actions[1] if actions else "")),
            size[1] if size else "",
        )
    return found


def actions(source: str) -> dict[str, tuple[str, ...]]:
    """Every action: the names of its parameters."""
    found = re.findall(r"action\s+(\w+)\(([^)]*)\)", source)
    return {
        name: tuple(param.split()[-1] for param in params.split(",") if param.strip())
        for name, params in found
    }


def enumerators(source: str) -> dict[str, int]:
    """C enumerators with a value of their own."""
    return {
        name: int(eval(value, {"__builtins__": {}}))
        for name, value in re.findall(r"\b(NC_\w+)\s*=\s*([\d\s<]+),", source)
    }


def c_fields(source: str, struct: str) -> list[tuple[str, int]]:
    """Fields of a C structure of nc_u8 .. nc_be32 and their widths in bits."""
    body = re.search(rf"struct\s+{struct}\s*\{{(.*?)\}}", source, re.DOTALL)
    assert body, struct
    found = re.findall(r"nc_(?:u|be)(\d+)\s+(\w+);", body[1])
    return [(name, int(bits)) for bits, name in found]
