# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The options of `rack run`, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loadgen.rack.sweep import SweepSettings
from loadgen.workload.schemes import parse_schemes
from loadgen.workload.services import Workload, parse_workload
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError

MIN_LOAD, MAX_LOAD = 1e-4, 2.0
MAX_DURATION_S = 3600.0
MAX_SERVICE_S = 1.0
"""Longest mean service time, jitter included, before it is stretched."""
MAX_REPEATS = 1000
MAX_SEED = (1 << 32) - 1
WARMUP_SHARE = 0.2


@dataclass(frozen=True)
class RunOptions:
    """What the user wants measured. Without a time scale it is calibrated."""

    settings: SweepSettings
    workload: Workload
    time_scale: float | None


def parse_run_options(
    *,
    schemes: str,
    service: str,
    jitter: str,
    loads: str,
    duration: str,
    warmup: str | None,
    time_scale: float | None,
    seed: int,
    repeats: int,
) -> RunOptions:
    """Raises `UserError` for the first option that is wrong."""
    duration_s = _seconds(duration, "--duration")
    if time_scale is not None and not 1 <= time_scale <= 1e6:
        raise UserError(f"--time-scale {time_scale:g} is out of range", "give 1 to 1000000")
    for what, value, low, high in (
        ("--repeats", repeats, 1, MAX_REPEATS),
        ("--seed", seed, 0, MAX_SEED),
    ):
        if not low <= value <= high:
            raise UserError(f"{what} {value} is out of range", f"give {low} to {high}")
    settings = SweepSettings(
        schemes=tuple(parse_schemes(schemes)),
        loads=_loads(loads),
        duration_s=duration_s,
        warmup_s=WARMUP_SHARE * duration_s if warmup is None else _seconds(warmup, "--warmup"),
        seed=seed,
        repeats=repeats,
    )
    return RunOptions(settings, _workload(service, jitter), time_scale)


def _seconds(text: str, what: str) -> float:
    seconds = parse_duration_ns(text, what, longest_ns=math.inf) * 1e-9
    if seconds > MAX_DURATION_S:
        raise UserError(
            f"{what} {text} is too long: longer than an hour", f"give {MAX_DURATION_S:g}s or less"
        )
    return seconds


def _workload(service: str, jitter: str) -> Workload:
    workload = parse_workload(service, jitter)
    if not workload.mean_ns <= MAX_SERVICE_S * 1e9:
        raise UserError(
            f"a mean service of {workload.mean_ns * 1e-9:g} s, jitter included, is too long",
            f"--service and --jitter may come to {MAX_SERVICE_S:g}s",
        )
    return workload


def _loads(text: str) -> tuple[float, ...]:
    loads = []
    for part in text.split(","):
        try:
            load = float(part)
        except ValueError:
            load = math.nan
        if not MIN_LOAD <= load <= MAX_LOAD:
            raise UserError(
                f"--loads {text}: '{part}' is not a load",
                hint=f"a load is a share of all workers' time, {MIN_LOAD:g} to {MAX_LOAD:g}",
            )
        loads.append(load)
    return tuple(loads)
