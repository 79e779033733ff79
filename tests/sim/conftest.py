# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Simulated points with fixed seeds: the same numbers on every machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from loadgen.sim import native
from loadgen.sim.model import Model, Point, RequestClass
from loadgen.sim.run import PointResult, run_points
from loadgen.workload.services import parse_workload
from netclone_host.errors import UserError

Simulate = Callable[..., PointResult]


@pytest.fixture(scope="session", autouse=True)
def simulator() -> None:
    try:
        native.library()
    except UserError as error:
        if shutil.which("cc") is None:
            pytest.skip("needs a C compiler (cc)")
        raise AssertionError(error.message) from error


def queue_model(service: str, workers: tuple[int, ...], **given: Any) -> Model:
    """Servers without a network: response times as queueing theory has them."""
    return Model(
        classes=(RequestClass(parse_workload(service)),),
        workers=workers,
        **{"link_ns": 0.0, "switch_ns": 0.0, "clients": 1, "queue_limit": 1 << 20, **given},
    )


def simulate_point(
    model: Model, scheme: str, load: float, requests: int = 200_000, **given: Any
) -> PointResult:
    point = Point(model, scheme, load, requests, **{"replications": 10, "seed": 7, **given})
    [result] = run_points([point], processes=1)
    return result
