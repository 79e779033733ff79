# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The TNA program, compiled and assembled once for all tests that look at the result."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.p4 import tools
from tests.p4.report_module import report


@pytest.fixture(scope="session")
def tofino_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with everything that p4c-barefoot and bfas leave."""
    tools.require("p4c-barefoot", "bfas")
    directory = tmp_path_factory.mktemp("tofino")
    report.assemble(report.compile_program(directory))
    return directory
