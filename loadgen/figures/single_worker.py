# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The model of *Low latency via redundancy*: servers of one worker, a network without delay."""

from __future__ import annotations

from loadgen.advise.question import Question
from loadgen.advise.threshold import Threshold
from loadgen.figures.figure import Settings
from loadgen.sim.model import Model, RequestClass
from loadgen.workload.services import parse_workload

SERVERS = 20
PARETO, CONST = "pareto:2.1:1ms", "const:1ms"
LOADS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)


def single_worker_model(service: str, servers: int = SERVERS) -> Model:
    return Model(
        classes=(RequestClass(parse_workload(service)),),
        workers=(1,) * servers,
        clients=1,
        link_ns=0.0,
        switch_ns=0.0,
        queue_limit=1 << 16,
    )


def question(s: Settings, service: str, overhead_ns: float = 0.0) -> Question:
    """Up to which load do two copies pay?"""
    return Question(
        parse_workload(service),
        SERVERS,
        overhead_ns=overhead_ns,
        requests=max(20_000, s.requests // 2),
        seed=s.seed,
    )


def load_of(t: Threshold) -> float:
    """0: never."""
    return t.load or 0.0
