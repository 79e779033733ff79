# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Seed inputs for the fuzzers, from the corpus: python -m tests.conformance.fuzz_seeds DIR

The form of an input is in xdp/native/fuzz/setup.h.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tests.conformance.scenario import Scenario, corpus

_RACKSCHED, _GENERIC, _TIMEOUT, _APP_STATE, _TABLES_SHIFT = 1, 2, 4, 8, 4
_RESERVE, _HOLD = 64, 128


def options_of(scenario: Scenario) -> int:
    config = scenario.config
    options = min(config["filter_tables"], 4) - 1 << _TABLES_SHIFT
    options |= _RACKSCHED if config.get("racksched") else 0
    options |= _GENERIC if config.get("generic") else 0
    options |= _TIMEOUT if config.get("server_timeout_ms") or scenario.timed else 0
    options |= _RESERVE if config.get("reserve") else 0
    options |= _HOLD if config.get("hold") else 0
    return options | (_APP_STATE if config.get("state_source") == "app" else 0)


def seed_of(scenario: Scenario) -> bytes:
    frames = (
        bytes([step.port]) + len(step.frame).to_bytes(2, "little") + step.frame
        for step in scenario.steps
    )
    return bytes([options_of(scenario)]) + b"".join(frames)


def write(directory: Path) -> None:
    """One directory a fuzzer; a file is named after what it holds."""
    for scenario in corpus():
        _save(directory / scenario.role, seed_of(scenario))
        for step in scenario.steps:
            _save(directory / "parser", step.frame)


def _save(directory: Path, seed: bytes) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
