# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen sweep``: schemes at loads, in the software rack or on servers given by
address; emulated services or real stores."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from loadgen.cli import EXIT_SCHEDULE
from loadgen.cli.output import emit_records, writable
from loadgen.cli.types import parse_endpoint, parse_netns, seconds
from loadgen.native.client_structs import MAX_THETA
from loadgen.plot.latency import plot_records
from loadgen.rack.given import GivenServers
from loadgen.rack.run import run_rack
from loadgen.rack.run_options import MAX_REPEATS, WARMUP_SHARE, parse_run_options
from loadgen.rack.stores.process import StoreKind
from loadgen.rack.stores.run import run_stores
from loadgen.rack.stores.servers import StoreLoad
from loadgen.rack.sweep import SweepSettings
from loadgen.rack.sweep import sweep as run_sweep
from loadgen.traffic.endpoints import Endpoint
from loadgen.workload.records import RunRecord, write_csv
from loadgen.workload.schemes import parse_schemes
from loadgen.workload.services import parse_workload
from netclone_host.cli.usage import given, refuse
from netclone_host.errors import UserError
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import check_rack_name, default_topology
from netclone_host.rack.programs import Options
from netclone_host.topology import Topology

DEFAULT_LOADS = "0.1,0.3,0.5,0.7"
SYNTHETIC = "synthetic"
STORE_WORKERS = 8  # section 5.5 of the paper
WORKERS = 15


@dataclass(frozen=True)
class Asked:
    """The options as they were given."""

    schemes: str
    app: str
    loads: str | None
    rates: str | None
    service: str
    jitter: str
    time_scale: float | None
    objects: int
    zipf: float
    mix: str
    duration: str
    warmup: str | None
    repeats: int
    seed: int
    rack: str
    servers: int
    clients: int
    workers: int | None
    targets: tuple[str, ...]
    netns: str | None

    def topology(self, workers: int) -> Topology | None:
        """The rack to build; None: the one that is up, whatever it is like."""
        if Journal(self.rack).exists and not given(("servers", "clients", "workers")):
            return None
        return default_topology(self.servers, self.clients, self.workers or workers)

    def settings(self) -> SweepSettings:
        """Loads or rates, and real times. Raises `UserError`."""
        rates = () if self.rates is None else _numbers(self.rates, "--rates")
        loads = _numbers(DEFAULT_LOADS if self.loads is None else self.loads, "--loads")
        duration_s = seconds(self.duration, "--duration")
        return SweepSettings(
            tuple(parse_schemes(self.schemes)),
            () if rates else loads,
            rates,
            duration_s,
            duration_s * WARMUP_SHARE if self.warmup is None else seconds(self.warmup, "--warmup"),
            self.seed,
            self.repeats,
        )


def _numbers(text: str, what: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(0 < value < float("inf") for value in values):
        raise UserError(f"{what} '{text}' is not a list of numbers above 0", "such as 0.1,0.3,0.5")
    return values


@click.command()
@click.option("--schemes", default="baseline,c-clone,netclone", show_default=True)
@click.option(
    "--app",
    type=click.Choice(["synthetic", "redis", "memcached"]),
    default="synthetic",
    show_default=True,
)
@click.option("--loads", help=f"Shares of the capacity.  [default: {DEFAULT_LOADS}]")
@click.option("--rates", help="Instead of loads: requests per second of real time.")
@click.option("--service", default="exp:25us", show_default=True, help="synthetic: service times.")
@click.option("--jitter", default="0.01x15", show_default=True, help="synthetic: PxM.")
@click.option("--time-scale", type=float, help="synthetic: stretch.  [default: calibrated]")
@click.option("--objects", type=click.IntRange(100, 1 << 40), default=1_000_000, show_default=True)
@click.option("--zipf", type=click.FloatRange(0, MAX_THETA), default=0.99, show_default=True)
@click.option("--mix", default="99/1", show_default=True, help="GET/SCAN or GET/SCAN/SET, percent.")
@click.option("--duration", default="5s", show_default=True, help="Measured window of each run.")
@click.option("--warmup", help="Before the window.  [default: duration / 5]")
@click.option("--repeats", type=click.IntRange(1, MAX_REPEATS), default=1, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--rack", default="netclone", show_default=True, help="Used if up, else built.")
@click.option("--servers", type=click.IntRange(2, 256), default=6, show_default=True)
@click.option("--clients", type=click.IntRange(1, 100), default=2, show_default=True)
@click.option("--workers", type=click.IntRange(1), help="[default: 15, stores 8]")
@click.option("--server", "targets", multiple=True, help="No rack: a running server, by id.")
@click.option("--netns", help="With --server: namespace to send from.")
@click.option(
    "--json",
    "json_to",
    callback=writable,
    help="Write the records to this file, - for standard output.",
)
@click.option(
    "--csv", "csv_to", callback=writable, type=click.Path(path_type=Path), help="Write a CSV too."
)
@click.option(
    "--plot",
    "plot_to",
    callback=writable,
    type=click.Path(path_type=Path),
    help="Draw PNG and SVG too.",
)
def sweep(json_to: str | None, csv_to: Path | None, plot_to: Path | None, **options: Any) -> None:
    """Measure schemes at several loads.

    Exit status 3 when a run could not keep its schedule or ended early, 4 when a store
    returned a value that was never loaded.
    """
    asked = Asked(**options)
    _check(asked)
    if asked.targets:
        records = _given(asked)
    elif asked.app == SYNTHETIC:
        records = _emulated(asked)
    else:
        records = _stores(asked)
    # `run_rack` prints its own table.
    emit_records(records, json_to, table=asked.app != SYNTHETIC or bool(asked.targets))
    if csv_to:
        write_csv(csv_to, records)
    if plot_to:
        for path in plot_records(records, plot_to):
            click.echo(f"wrote {path}", err=True)
    if not all(r.kept_schedule for r in records):
        sys.exit(EXIT_SCHEDULE)


def _check(asked: Asked) -> None:
    """`UserError` for options that contradict one another."""
    check_rack_name(asked.rack)
    if asked.loads is not None and asked.rates is not None:
        raise UserError("both --loads and --rates", "give one of them")
    if asked.targets and asked.app != SYNTHETIC:
        raise UserError("stores run in the software rack", "omit --server")
    if asked.app == SYNTHETIC:
        refuse(("objects", "zipf", "mix"), "applies to stores only", "add --app redis or memcached")
    else:
        refuse(
            ("service", "jitter", "time_scale"),
            f"applies to emulated services only, and {asked.app} takes the time it takes",
            "omit it, or omit --app",
        )
    if asked.targets:
        refuse(
            ("rack", "servers", "clients"),
            "describes a rack, and --server works without one",
            "omit one of the two",
        )
    else:
        refuse(["netns"], "tells where to reach --server from", "add --server, or omit it")


def _emulated(asked: Asked) -> list[RunRecord]:
    if asked.rates is not None:
        _numbers(asked.rates, "--rates")
        raise UserError(
            "emulated services in the rack are given as loads", "use --loads 0.1,0.3 instead"
        )
    options = parse_run_options(
        schemes=asked.schemes,
        service=asked.service,
        jitter=asked.jitter,
        loads=DEFAULT_LOADS if asked.loads is None else asked.loads,
        duration=asked.duration,
        warmup=asked.warmup,
        time_scale=asked.time_scale,
        seed=asked.seed,
        repeats=asked.repeats,
    )
    return run_rack(asked.rack, asked.topology(WORKERS), Options(), options, None)


def _stores(asked: Asked) -> list[RunRecord]:
    try:
        shares = [float(part) / 100 for part in asked.mix.split("/")]
    except ValueError:
        shares = []
    if len(shares) not in (2, 3) or min(shares) < 0 or not abs(sum(shares) - 1) <= 1e-9:
        raise UserError(
            f"--mix '{asked.mix}' does not add up to 100", "such as 99/1, 90/10 or 90/5/5"
        )
    load = StoreLoad(
        StoreKind[asked.app.upper()],
        asked.objects,
        asked.zipf,
        shares[1],
        shares[2] if len(shares) == 3 else 0.0,
    )
    return run_stores(asked.rack, asked.topology(STORE_WORKERS), load, asked.settings())


def _given(asked: Asked) -> list[RunRecord]:
    settings = asked.settings()
    servers = [parse_endpoint(text) for text in asked.targets]
    client = Endpoint("::" if servers[0].is_ip6 else "0.0.0.0", 0, parse_netns(asked.netns))
    workload = parse_workload(asked.service, asked.jitter)
    given_servers = GivenServers(
        client, servers, workload, asked.workers or WORKERS, asked.time_scale or 1.0
    )
    return list(run_sweep(given_servers, settings))
