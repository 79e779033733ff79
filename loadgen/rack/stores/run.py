# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A sweep over real stores: finds or builds the rack, starts and loads the stores, measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from loadgen.machine.awake import processors_awake
from loadgen.rack.progress import progress_console, sweep_with_progress
from loadgen.rack.run import available_rack
from loadgen.rack.scheme_setup import check as check_schemes
from loadgen.rack.stores.process import StoreProcess
from loadgen.rack.stores.servers import StoreLoad, running_stores, store_servers
from loadgen.rack.sweep import SweepSettings
from loadgen.workload.records import RunRecord
from netclone_host.rack.plan import Plan
from netclone_host.rack.programs import Options
from netclone_host.topology import Topology


def run_stores(
    rack: str, topology: Topology | None, load: StoreLoad, settings: SweepSettings
) -> list[RunRecord]:
    """Measures; returns the records. Raises `WrongValueError`."""
    console = progress_console()
    with available_rack(rack, topology, Options(), console) as plan:
        check_schemes(plan, settings.schemes)
        with (
            _loaded_stores(plan, load, console) as stores,
            store_servers(plan, load, settings.seed, stores) as servers,
            processors_awake(),
        ):
            return sweep_with_progress(servers, settings, console)


@contextmanager
def _loaded_stores(
    plan: Plan, load: StoreLoad, console: Console
) -> Iterator[Sequence[StoreProcess]]:
    """A bar for each store while it is loaded."""
    with ExitStack() as undo:
        with Progress(
            TextColumn("loading {task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} of {task.total:,} objects"),
            console=console,
            transient=True,
        ) as progress:
            tasks = {
                node.name: progress.add_task(node.name, total=load.objects) for node in plan.servers
            }

            def loaded(name: str, written: int) -> None:
                progress.update(tasks[name], completed=written)
                if written == load.objects and not console.is_terminal:  # which has the bars
                    console.print(f"loaded {name}: {written:,} objects", style="dim")

            stores = undo.enter_context(running_stores(plan, load, loaded))
        yield stores
