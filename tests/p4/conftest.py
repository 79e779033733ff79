# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The TNA program, compiled and assembled once an option for all tests that look at the result."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.p4 import tools
from tests.p4.report_module import report

Build = Callable[[str], Path]

_COMPILE_TIMEOUT_S = 3600
"""An unoptimised p4c takes minutes for one build, on a busy machine ten."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tofino_builds" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(_COMPILE_TIMEOUT_S))


@pytest.fixture(scope="session")
def tofino_builds(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Variant of p4/report.py -> the directory with all that p4c-barefoot and bfas leave."""
    tools.require("p4c-barefoot", "bfas")

    @cache
    def build(variant: str) -> Path:
        directory = tmp_path_factory.mktemp("tofino")
        report.assemble(report.compile_program(directory, report.VARIANTS[variant]))
        return directory

    return build


@pytest.fixture(scope="session")
def tofino_build(tofino_builds: Build) -> Path:
    """The default build."""
    return tofino_builds("default")
