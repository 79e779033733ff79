# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""p4/report.py and what it uses: scripts, in no package."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from tests.p4.p4_text import P4


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, P4 / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


parser_states = _load("parser_states")
report = _load("report")
