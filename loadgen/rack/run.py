# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The whole of `rack run`: finds or builds the rack, calibrates, sweeps, reports."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from loadgen.machine.awake import processors_awake
from loadgen.rack import report, scale
from loadgen.rack.calibrate import calibrate_rack
from loadgen.rack.emulated import EmulatedServers
from loadgen.rack.progress import WIDTH, progress_console, sweep_with_progress
from loadgen.rack.run_options import RunOptions
from loadgen.rack.scheme_setup import check as check_schemes
from loadgen.workload.records import RunRecord
from netclone_host.errors import UserError
from netclone_host.rack import build, programs, status
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.topology import Topology


def run_rack(
    rack: str,
    topology: Topology | None,
    attach_options: programs.Options,
    options: RunOptions,
    out: Path | None,
) -> list[RunRecord]:
    """Measures, prints the table, writes files to `out`; returns the records."""
    # Killed politely, or its terminal closed, it still takes down what it has built.
    for politely in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(politely) != signal.SIG_IGN:  # nohup
            signal.signal(politely, lambda number, _: sys.exit(128 + number))
    console = progress_console()
    with available_rack(rack, topology, attach_options, console) as plan:
        check_schemes(plan, options.settings.schemes)
        servers = _servers(plan, options, console)
        timeout_ns = request_timeout_ns(servers, options)
        with programs.request_timeout(plan, timeout_ns), processors_awake():
            records = sweep_with_progress(servers, options.settings, console)
        title = _title(servers)
    Console(width=None if sys.stdout.isatty() else WIDTH).print(report.table(records, title))
    if out is not None:
        report.write_all(out, records, _described(servers, options, title))
        Console().print(f"wrote {out}/summary.json, latency.csv, latency.png")
    return records


@contextmanager
def available_rack(
    rack: str, topology: Topology | None, options: programs.Options, console: Console
) -> Iterator[Plan]:
    """The rack that is up, or one that exists within the block only."""
    if build.clear_crashed(rack):
        console.print(f"removed what a crash left of the rack '{rack}'", style="dim")
    if Journal(rack).exists:
        plan = status.plan_of(rack)
        if topology is not None and topology != plan.topology:
            raise UserError(
                f"the rack '{rack}' is up, and is not the one that the options describe",
                hint="omit the options, give another --name, or take it down first",
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


def _servers(plan: Plan, options: RunOptions, console: Console) -> EmulatedServers:
    settings, time_scale = options.settings, options.time_scale
    if time_scale is None:
        found = calibrate_rack(plan, settings.seed)
        n_workers = sum(node.workers for node in plan.servers)
        time_scale = scale.choose_time_scale(
            found, options.workload, n_workers, settings.schemes, settings.loads
        )
        console.print(
            f"calibration: a request costs {found.cost_s * 1e6:.1f} us of processor time, "
            f"{found.requests_per_s:,.0f} a second; so time is stretched {time_scale:g} times",
            style="dim",
        )
    return EmulatedServers(plan, options.workload, time_scale)


def request_timeout_ns(servers: EmulatedServers, options: RunOptions) -> int:
    """A request of an overloaded run may wait this long; forgotten sooner, its server would
    look idle."""
    settings = options.settings
    drain_s = servers.drain_s(settings.duration_s, settings.warmup_s)
    return int((drain_s + settings.duration_s) * 1e9)


def _title(servers: EmulatedServers) -> str:
    workload = servers.workload
    return (
        f"{len(servers.plan.servers)} servers, {workload.service.text}, jitter "
        f"{workload.jitter}, time x{servers.time_scale:g}, "
        f"{_mode_text(programs.mode_of(servers.plan))}"
    )


def _mode_text(mode: str) -> str:
    """What `programs.mode_of` says, for people."""
    hosts, _, switch = mode.partition("+bmv2")
    return f"XDP {hosts}" if hosts == mode else f"switch simple_switch, hosts XDP {hosts}{switch}"


def _described(servers: EmulatedServers, options: RunOptions, title: str) -> dict[str, object]:
    plan, settings, workload = servers.plan, options.settings, servers.workload
    return {
        "title": title,
        "servers": len(plan.servers),
        "workers": [node.workers for node in plan.servers],
        "clients": len(plan.clients),
        "schemes": [scheme.name for scheme in settings.schemes],
        "loads": list(settings.loads),
        "service": workload.service.text,
        "jitter": str(workload.jitter),
        "duration_s": settings.duration_s,
        "warmup_s": settings.warmup_s,
        "time_scale": servers.time_scale,
        "seed": settings.seed,
    }
