# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host rack run``: schemes at loads, on real packets."""

from __future__ import annotations

from pathlib import Path

import click

from netclone_host.cli.rack.options import (
    attach_options,
    chosen_attach,
    chosen_topology,
    name_option,
    size_options,
)
from netclone_host.cli.usage import refuse
from netclone_host.rack import build
from netclone_host.rack.journal import Journal

DEFAULT_SCHEMES = "baseline,c-clone,netclone"
DEFAULT_LOADS = "0.1,0.3,0.5,0.7"


@click.command()
@name_option
@size_options
@attach_options
@click.option("--schemes", default=DEFAULT_SCHEMES, show_default=True, help="Joined by commas.")
@click.option("--service", default="exp:25us", show_default=True, help="Service times.")
@click.option(
    "--jitter", default="0.01x15", show_default=True, help="PxM: a share P takes M times as long."
)
@click.option(
    "--loads", default=DEFAULT_LOADS, show_default=True, help="Utilisation without clones."
)
@click.option("--duration", default="5s", show_default=True, help="Measured window of each run.")
@click.option("--warmup", help="Sent before the window, not measured.  [default: duration / 5]")
@click.option(
    "--time-scale",
    type=float,
    help="How far service times and latencies are stretched.  [default: calibrated]",
)
@click.option("--seed", default=1, show_default=True, help="Seed of arrivals and service times.")
@click.option("--repeats", default=1, show_default=True, help="Repetitions of every run.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write records here.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Directory for summary, CSV and picture."
)
def run(
    rack: str,
    topology_path: Path | None,
    n_servers: int | None,
    n_clients: int | None,
    workers: str | None,
    mode: str,
    loader: str,
    state: str,
    schemes: str,
    service: str,
    jitter: str,
    loads: str,
    duration: str,
    warmup: str | None,
    time_scale: float | None,
    seed: int,
    repeats: int,
    json_path: Path | None,
    out: Path | None,
) -> None:
    """Measure schemes at several loads and print a table.

    Uses the rack NAME if it is up; otherwise builds one and removes it at the end.
    Latencies and rates are in unstretched time. Answered + unanswered = sent.
    """
    # Imported here: numpy and the C code are needed by this verb only.
    from loadgen.rack.run import run_rack
    from loadgen.rack.run_options import parse_run_options
    from loadgen.workload.records import write_json
    from loadgen.workload.user_files import require_writable

    asked = parse_run_options(
        schemes=schemes,
        service=service,
        jitter=jitter,
        loads=loads,
        duration=duration,
        warmup=warmup,
        time_scale=time_scale,
        seed=seed,
        repeats=repeats,
    )
    build.require_root()
    if json_path is not None:
        require_writable(json_path)
    if out is not None:
        require_writable(out, directory=True)
    if Journal(rack).exists:
        refuse(
            ("mode", "loader", "state"),
            f"comes too late: the rack '{rack}' is up",
            "take it down first, or use another --name",
        )
    options = chosen_attach(mode, loader, state)
    sizes = (topology_path, n_servers, n_clients, workers)
    topology = None if sizes == (None, None, None, None) else chosen_topology(*sizes)
    records = run_rack(rack, topology, options, asked, out)
    if json_path is not None:
        write_json(json_path, records)
