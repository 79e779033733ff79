# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every line of Algorithm 1 is cited, as `[line 6]` or `[lines 17-23]`, where it is done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CITATION = re.compile(r"\[lines? (\d+)(?:-(\d+))?\]")
LINES = list(range(1, 24))

IMPLEMENTATIONS = {
    "oracle": ["netclone_host/model/switch.py"],
    "C": ["xdp/include/netclone/algorithm1.h"],
    "v1model": ["p4/shared/*.p4", "p4/v1model/*.p4"],
    "tna": ["p4/shared/*.p4", "p4/tna/*.p4"],
}
EXTENSIONS = [
    "netclone_host/model/extensions/[a-z]*.py",
    "xdp/include/netclone/extensions/*.h",
]


def files(patterns: list[str]) -> list[Path]:
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    assert found, f"nothing matches {patterns}"
    return found


def cited(text: str) -> list[int]:
    return [
        line
        for match in CITATION.finditer(text)
        for line in range(int(match[1]), int(match[2] or match[1]) + 1)
    ]


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_line_is_cited(name: str) -> None:
    text = "".join(path.read_text() for path in files(IMPLEMENTATIONS[name]))
    assert sorted(set(cited(text))) == LINES


@pytest.mark.parametrize("path", files(EXTENSIONS), ids=lambda path: path.name)
def test_an_extension_names_the_line_that_it_changes(path: Path) -> None:
    head = path.read_text().split('"""')[1] if path.suffix == ".py" else path.read_text()[:2000]
    assert cited(head)
