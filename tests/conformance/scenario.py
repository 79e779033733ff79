# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A scenario in memory and as JSON (README.md in this directory describes the form)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"

Tables = dict[str, Any]

GENERATED = "generated"
"""Name of a scenario whose expectations are the oracle's."""


@dataclass
class Step:
    """One frame in, and what must come of it."""

    port: int
    frame: bytes
    out: list[tuple[int, bytes]]
    counters: dict[str, int]
    at_ms: int = 0
    offloaded: bool = False
    chosen: bool = False
    """GRP and IDX of the frame that leaves are the node's own choice."""

    def to_json(self) -> dict[str, Any]:
        step: dict[str, Any] = {"port": self.port, "frame": self.frame.hex()}
        if self.at_ms:
            step["at_ms"] = self.at_ms
        if self.offloaded:
            step["offloaded"] = True
        if self.chosen:
            step["chosen"] = True
        step["out"] = [{"port": port, "frame": frame.hex()} for port, frame in self.out]
        step["counters"] = self.counters
        return step

    @classmethod
    def from_json(cls, step: dict[str, Any]) -> Step:
        return cls(
            port=step["port"],
            frame=bytes.fromhex(step["frame"]),
            out=[(out["port"], bytes.fromhex(out["frame"])) for out in step["out"]],
            counters=step["counters"],
            at_ms=step.get("at_ms", 0),
            offloaded=step.get("offloaded", False),
            chosen=step.get("chosen", False),
        )


@dataclass
class Scenario:
    name: str
    why: str
    role: str
    config: dict[str, Any]
    before: Tables
    steps: list[Step] = field(default_factory=list)
    changes: Tables = field(default_factory=dict)
    """Tables that are different afterwards, whole."""

    @property
    def after(self) -> Tables:
        return {**self.before, **self.changes}

    @property
    def timed(self) -> bool:
        """It needs a clock that the runner can set, or patience."""
        return any(step.at_ms for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "why": self.why,
            "role": self.role,
            "config": self.config,
            "before": self.before,
            "steps": [step.to_json() for step in self.steps],
            "after": self.changes,
        }

    @classmethod
    def from_json(cls, scenario: dict[str, Any]) -> Scenario:
        return cls(
            name=scenario["name"],
            why=scenario["why"],
            role=scenario["role"],
            config=scenario["config"],
            before=scenario["before"],
            steps=[Step.from_json(step) for step in scenario["steps"]],
            changes=scenario["after"],
        )


def load(path: Path) -> list[Scenario]:
    return [Scenario.from_json(entry) for entry in json.loads(path.read_text())]


def corpus() -> Iterator[Scenario]:
    """Every scenario of the corpus, by file and in the order of the file."""
    for path in sorted(CORPUS.glob("*.json")):
        yield from load(path)
