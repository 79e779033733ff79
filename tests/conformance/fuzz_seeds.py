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
_RESERVE, _HOLD, _NO_CLONES, _RACK_5, _ONE_PORT = (1 << bit for bit in range(6, 11))
_PARTIAL = 128


def options_of(scenario: Scenario) -> int:
    config = scenario.config
    options = min(config["filter_tables"], 4) - 1 << _TABLES_SHIFT
    options |= _RACKSCHED if config.get("racksched") else 0
    options |= _GENERIC if config.get("generic") else 0
    options |= _TIMEOUT if config.get("server_timeout_ms") or scenario.timed else 0
    options |= _RESERVE if config.get("reserve") else 0
    options |= _HOLD if config.get("hold") else 0
    options |= 0 if config.get("cloning", True) else _NO_CLONES
    options |= _RACK_5 if config.get("switch_id") else 0
    servers = scenario.before.get("servers", {}).values()
    options |= _ONE_PORT if servers and len({server["port"] for server in servers}) == 1 else 0
    return options | (_APP_STATE if config.get("state_source") == "app" else 0)


def seed_of(scenario: Scenario) -> bytes:
    frames = (
        bytes([step.port | (_PARTIAL if step.offloaded else 0)])
        + len(step.frame).to_bytes(2, "little")
        + step.frame
        for step in scenario.steps
    )
    return options_of(scenario).to_bytes(2, "little") + b"".join(frames)


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
