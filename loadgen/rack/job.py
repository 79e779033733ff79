# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The whole of `rack run`: checks what is asked, finds or builds the rack, calibrates, runs the
sweep with progress, and reports."""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from loadgen.machine.awake import processors_awake
from loadgen.rack import report, scale
from loadgen.rack.calibrate import calibrate
from loadgen.rack.scheme_setup import check as check_schemes
from loadgen.rack.sweep import Run, SweepSettings, sweep
from loadgen.workload.records import RunRecord, write_json
from loadgen.workload.schemes import Scheme, parse_schemes
from loadgen.workload.services import Workload, parse_workload
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError
from netclone_host.rack import build, programs, status
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.topology import Topology

__all__ = ["Asked", "parse", "run", "write_json"]

MIN_LOAD, MAX_LOAD = 1e-4, 2.0
MAX_DURATION_S = 3600.0
MAX_SERVICE_S = 1.0
"""Of the mean service time, jitter included, before it is stretched."""
MAX_REPEATS = 1000
MAX_SEED = (1 << 32) - 1
WARMUP_SHARE = 0.2
WIDTH = 110
"""Columns of what does not go to a terminal."""


@dataclass(frozen=True)
class Asked:
    """What the user wants measured. Without a time scale it is calibrated."""

    schemes: tuple[Scheme, ...]
    loads: tuple[float, ...]
    workload: Workload
    duration_s: float
    warmup_s: float
    time_scale: float | None
    seed: int
    repeats: int


def parse(
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
) -> Asked:
    """Check the options of `rack run`; `UserError` for the first that is wrong."""
    duration_s = _seconds(duration, "--duration")
    if time_scale is not None and not 1 <= time_scale <= 1e6:
        raise UserError(f"--time-scale {time_scale:g} is out of range", "give 1 to 1000000")
    for what, value, low, high in (
        ("--repeats", repeats, 1, MAX_REPEATS),
        ("--seed", seed, 0, MAX_SEED),
    ):
        if not low <= value <= high:
            raise UserError(f"{what} {value} is out of range", f"give {low} to {high}")
    return Asked(
        schemes=tuple(parse_schemes(schemes)),
        loads=_loads(loads),
        workload=_workload(service, jitter),
        duration_s=duration_s,
        warmup_s=(WARMUP_SHARE * duration_s if warmup is None else _seconds(warmup, "--warmup")),
        time_scale=time_scale,
        seed=seed,
        repeats=repeats,
    )


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


def run(
    rack: str,
    topology: Topology | None,
    options: programs.Options,
    asked: Asked,
    out: Path | None,
) -> list[RunRecord]:
    """Measure, print the table, write files to `out`; returns the records."""
    # Killed politely, or its terminal closed, it still takes down what it has built.
    for politely in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(politely) != signal.SIG_IGN:  # nohup
            signal.signal(politely, lambda number, _: sys.exit(128 + number))
    # Progress goes to standard error: standard output has the table alone.
    console = Console(stderr=True, width=None if sys.stderr.isatty() else WIDTH)
    with available_rack(rack, topology, options, console) as plan:
        check_schemes(plan, list(asked.schemes))
        mode = programs.mode_of(plan)
        settings = _settings(plan, asked, console)
        with programs.request_timeout(plan, _request_timeout_ns(settings)), processors_awake():
            records = _sweep(plan, settings, mode, console)
    title = (
        f"{len(plan.servers)} servers, {settings.workload.service.text}, jitter "
        f"{settings.workload.jitter}, time x{settings.time_scale:g}, {_mode_text(mode)}"
    )
    Console(width=None if sys.stdout.isatty() else WIDTH).print(report.table(records, title))
    if out is not None:
        report.write_all(out, records, _described(plan, settings, title))
        Console().print(f"wrote {out}/summary.json, latency.csv, latency.png")
    return records


def _mode_text(mode: str) -> str:
    """What `programs.mode_of` says, for people."""
    hosts, _, switch = mode.partition("+bmv2")
    return f"XDP {hosts}" if hosts == mode else f"switch simple_switch, hosts XDP {hosts}{switch}"


@contextmanager
def available_rack(
    rack: str, topology: Topology | None, options: programs.Options, console: Console
) -> Iterator[Plan]:
    """The rack that is up, or one that is there within the block only."""
    if build.clear_crashed(rack):
        console.print(f"removed what a crash left of the rack '{rack}'", style="dim")
    if Journal(rack).exists:
        plan = status.plan_of(rack)
        if topology is not None and topology != plan.topology:
            raise UserError(
                f"the rack '{rack}' is up, and is not the one that the options describe",
                hint="leave the options away, give another --name, or take it down first",
            )
        programs.require_attached(plan)
        yield plan
        return
    plan = make_plan(rack, topology or default_topology())
    build.up(plan, options, lambda step: console.print(f"rack up: {step}", style="dim"))
    try:
        yield plan
    finally:
        build.down(rack)


def _settings(plan: Plan, asked: Asked, console: Console) -> SweepSettings:
    time_scale = asked.time_scale
    if time_scale is None:
        found = calibrate(plan, asked.seed)
        n_workers = sum(node.workers for node in plan.servers)
        time_scale = scale.choose_time_scale(
            found, asked.workload, n_workers, asked.schemes, asked.loads
        )
        console.print(
            f"calibration: a request costs {found.cost_s * 1e6:.1f} us of processor time, "
            f"{found.copies_per_s:,.0f} a second; so time is stretched {time_scale:g} times",
            style="dim",
        )
    return SweepSettings(
        schemes=asked.schemes,
        loads=asked.loads,
        workload=asked.workload,
        duration_s=asked.duration_s,
        warmup_s=asked.warmup_s,
        time_scale=time_scale,
        seed=asked.seed,
        repeats=asked.repeats,
    )


def _request_timeout_ns(settings: SweepSettings) -> int:
    """A request of an overloaded run may wait this long; forgotten sooner, its server would
    look idle."""
    return int((settings.drain_s + settings.duration_s) * 1e9)


def _sweep(plan: Plan, settings: SweepSettings, mode: str, console: Console) -> list[RunRecord]:
    records: list[RunRecord] = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        task = progress.add_task("starting", total=settings.n_runs)

        def starts(now: Run) -> None:
            progress.update(task, description=f"{now.scheme.name} at load {now.load:g}")

        for record in sweep(plan, settings, mode, starts):
            records.append(record)
            progress.advance(task)
            progress.console.print(_line(record), style="dim", highlight=False)
    return records


def _line(record: RunRecord) -> str:
    line = (
        f"load {record.load:<4g} {record.scheme:<18} p50 {record.p50_us:7.0f}  p99 "
        f"{record.p99_us:7.0f} us  achieved {record.achieved_share:6.1%}  "
        f"cloned {record.clone_rate:6.1%}"
    )
    return line + (f"  ({record.note})" if record.note else "")


def _described(plan: Plan, settings: SweepSettings, title: str) -> dict[str, object]:
    return {
        "title": title,
        "servers": len(plan.servers),
        "workers": [node.workers for node in plan.servers],
        "clients": len(plan.clients),
        "schemes": [scheme.name for scheme in settings.schemes],
        "loads": list(settings.loads),
        "service": settings.workload.service.text,
        "jitter": str(settings.workload.jitter),
        "duration_s": settings.duration_s,
        "warmup_s": settings.warmup_s,
        "time_scale": settings.time_scale,
        "seed": settings.seed,
    }
