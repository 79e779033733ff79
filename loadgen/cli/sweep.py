# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen sweep``: schemes at loads, in the software rack or on servers that are
there; emulated services or real stores."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from loadgen.cli import EXIT_SCHEDULE
from loadgen.cli.output import emit_records, writable
from loadgen.cli.types import parse_endpoint, parse_netns, seconds
from loadgen.machine.awake import processors_awake
from loadgen.native.client_structs import MAX_THETA
from loadgen.plot.latency import plot_records
from loadgen.rack import job
from loadgen.rack.scheme_setup import check as check_schemes
from loadgen.rack.stores.process import StoreKind
from loadgen.rack.stores.sweep import StoreRack, StoreSweep, running_stores, sweep_stores
from loadgen.traffic.clients import ClientPlan, run_clients
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.probe import probe
from loadgen.traffic.run_record import make_record
from loadgen.workload.arrivals import parse_arrivals
from loadgen.workload.records import RunRecord, write_csv
from loadgen.workload.schemes import parse_schemes
from loadgen.workload.services import parse_workload
from netclone_host.cli.inapplicable import given, refuse
from netclone_host.errors import UserError
from netclone_host.rack import programs
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import check_rack_name, default_topology
from netclone_host.rack.programs import Options
from netclone_host.topology import Topology

DEFAULT_LOADS = "0.1,0.3,0.5,0.7"
STORE_WORKERS = 8  # section 5.5 of the paper
WORKERS = 15


@dataclass(frozen=True)
class Common:
    """What every kind of sweep needs, checked."""

    schemes: str
    loads: str | None
    rates: tuple[float, ...]
    duration: str
    warmup: str | None
    repeats: int
    seed: int

    @property
    def load_list(self) -> tuple[float, ...]:
        """Loads, of the option or the default."""
        return _numbers(DEFAULT_LOADS if self.loads is None else self.loads, "--loads")


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
@click.option("--rates", help="Instead: requests per second, real ones.")
@click.option("--service", default="exp:25us", show_default=True, help="synthetic: service times.")
@click.option("--jitter", default="0.01x15", show_default=True, help="synthetic: PxM.")
@click.option("--time-scale", type=float, help="synthetic: stretch.  [default: calibrated]")
@click.option("--objects", type=click.IntRange(100, 1 << 40), default=1_000_000, show_default=True)
@click.option("--zipf", type=click.FloatRange(0, MAX_THETA), default=0.99, show_default=True)
@click.option("--mix", default="99/1", show_default=True, help="GET/SCAN or GET/SCAN/SET, percent.")
@click.option("--duration", default="5s", show_default=True, help="Measured window of each run.")
@click.option("--warmup", help="Before the window.  [default: duration / 5]")
@click.option("--repeats", type=click.IntRange(1, job.MAX_REPEATS), default=1, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--rack", default="netclone", show_default=True, help="Used if up, else built.")
@click.option("--servers", type=click.IntRange(2, 256), default=6, show_default=True)
@click.option("--clients", type=click.IntRange(1, 100), default=2, show_default=True)
@click.option("--workers", type=click.IntRange(1), help="[default: 15, stores 8]")
@click.option("--server", "targets", multiple=True, help="No rack: a server that is there, by id.")
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
def sweep(
    schemes: str,
    app: str,
    loads: str | None,
    rates: str | None,
    service: str,
    jitter: str,
    time_scale: float | None,
    objects: int,
    zipf: float,
    mix: str,
    duration: str,
    warmup: str | None,
    repeats: int,
    seed: int,
    rack: str,
    servers: int,
    clients: int,
    workers: int | None,
    targets: tuple[str, ...],
    netns: str | None,
    json_to: str | None,
    csv_to: Path | None,
    plot_to: Path | None,
) -> None:
    """Measure schemes at several loads.

    Exit status 3 when a run could not keep its schedule or ended early, 4 when a store
    returned a value that was never loaded.
    """
    check_rack_name(rack)
    if loads is not None and rates is not None:
        raise UserError("both --loads and --rates", "give one of them")
    common = Common(
        schemes,
        loads,
        _numbers(rates, "--rates") if rates is not None else (),
        duration,
        warmup,
        repeats,
        seed,
    )
    if targets and app != "synthetic":
        raise UserError("stores run in the software rack", "leave --server away")
    _refuse_foreign(app, on_servers=bool(targets))
    if targets:
        found = list(
            _on_servers(common, targets, netns, service, jitter, workers or WORKERS, time_scale)
        )
    elif app == "synthetic":
        found = _synthetic(common, service, jitter, time_scale, rack, servers, clients, workers)
    else:
        store = _store_sweep(common, app, objects, zipf, mix)
        found = _stores(store, rack, servers, clients, workers or STORE_WORKERS)
    _deliver(found, json_to, csv_to, plot_to, printed=app == "synthetic" and not targets)
    if not all(r.kept_schedule for r in found):
        sys.exit(EXIT_SCHEDULE)


def _refuse_foreign(app: str, *, on_servers: bool) -> None:
    """Options of another kind of sweep than this one."""
    if app == "synthetic":
        refuse(("objects", "zipf", "mix"), "is about stores", "add --app redis or memcached")
    else:
        refuse(
            ("service", "jitter", "time_scale"),
            f"is about emulated services, and {app} takes the time it takes",
            "leave it away, or leave --app away",
        )
    if on_servers:
        refuse(
            ("rack", "servers", "clients"),
            "describes a rack, and --server goes without one",
            "leave one of the two away",
        )
    else:
        refuse(["netns"], "is where --server is reached from", "add --server, or leave it away")


def _deliver(
    found: list[RunRecord],
    json_to: str | None,
    csv_to: Path | None,
    plot_to: Path | None,
    *,
    printed: bool,
) -> None:
    emit_records(found, json_to, table=not printed)
    if csv_to:
        write_csv(csv_to, found)
    if plot_to:
        for path in plot_records(found, plot_to):
            click.echo(f"wrote {path}", err=True)


def _synthetic(
    common: Common,
    service: str,
    jitter: str,
    time_scale: float | None,
    rack: str,
    servers: int,
    clients: int,
    workers: int | None,
) -> list[RunRecord]:
    if common.rates:
        raise UserError(
            "emulated services in the rack are given as loads", "use --loads 0.1,0.3 instead"
        )
    asked = job.parse(
        schemes=common.schemes,
        service=service,
        jitter=jitter,
        loads=DEFAULT_LOADS if common.loads is None else common.loads,
        duration=common.duration,
        warmup=common.warmup,
        time_scale=time_scale,
        seed=common.seed,
        repeats=common.repeats,
    )
    return job.run(
        rack, _topology(rack, servers, clients, workers or WORKERS), Options(), asked, None
    )


def _topology(rack: str, servers: int, clients: int, workers: int) -> Topology | None:
    """Of the rack to build; None: the one that is up, whatever it is like."""
    if Journal(rack).exists and not given(("servers", "clients", "workers")):
        return None
    return default_topology(servers, clients, workers)


def _warmup_s(common: Common) -> float:
    if common.warmup is not None:
        return seconds(common.warmup, "--warmup")
    return seconds(common.duration, "--duration") / 5


def _store_sweep(common: Common, app: str, objects: int, zipf: float, mix: str) -> StoreSweep:
    try:
        shares = [float(part) / 100 for part in mix.split("/")]
    except ValueError:
        shares = []
    if len(shares) not in (2, 3) or min(shares) < 0 or not abs(sum(shares) - 1) <= 1e-9:
        raise UserError(f"--mix '{mix}' does not add up to 100", "such as 99/1, 90/10 or 90/5/5")
    return StoreSweep(
        StoreKind[app.upper()],
        tuple(parse_schemes(common.schemes)),
        () if common.rates else common.load_list,
        common.rates,
        seconds(common.duration, "--duration"),
        _warmup_s(common),
        common.repeats,
        common.seed,
        objects,
        zipf,
        shares[1],
        shares[2] if len(shares) == 3 else 0.0,
    )


def _stores(
    sweep: StoreSweep, rack: str, servers: int, clients: int, workers: int
) -> list[RunRecord]:
    console = Console(stderr=True)
    found: list[RunRecord] = []
    with ExitStack() as undo:
        plan = undo.enter_context(
            job.available_rack(rack, _topology(rack, servers, clients, workers), Options(), console)
        )
        check_schemes(plan, list(sweep.schemes))
        mode = programs.mode_of(plan)
        with Progress(
            TextColumn("loading {task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} of {task.total:,} objects"),
            console=console,
            transient=True,
        ) as progress:
            tasks = {
                node.name: progress.add_task(node.name, total=sweep.objects)
                for node in plan.servers
            }

            def loaded(name: str, written: int, all_of_them: int) -> None:
                progress.update(tasks[name], completed=written)
                if written == all_of_them and not console.is_terminal:  # which has the bars
                    console.print(f"loaded {name}: {written:,} objects", style="dim")

            stores = undo.enter_context(running_stores(plan, sweep, loaded))
        with StoreRack(plan, sweep, stores) as traffic, processors_awake():
            for record in sweep_stores(traffic, plan, sweep, mode):
                console.print(
                    f"{record.scheme:18} {record.offered_rps:9,.0f}/s  p50 {record.p50_us:8.0f}  "
                    f"p99 {record.p99_us:8.0f} us  cloned {record.clone_rate:.0%}",
                    style="dim",
                    highlight=False,
                )
                found.append(record)
    return found


def _on_servers(
    common: Common,
    targets: tuple[str, ...],
    netns: str | None,
    service: str,
    jitter: str,
    workers: int,
    time_scale: float | None,
) -> Iterator[RunRecord]:
    """Only the clients run here; the servers and the switch are set up already."""
    workload = parse_workload(service, jitter)
    scale = time_scale or 1.0
    servers = [parse_endpoint(text) for text in targets]
    source = Endpoint("::" if servers[0].is_ip6 else "0.0.0.0", 0, parse_netns(netns))
    schemes = parse_schemes(common.schemes)
    probe(source, servers)
    points = [(float("nan"), rate) for rate in common.rates] or [
        (load, workload.rate_rps(load, len(servers), workers, scale)) for load in common.load_list
    ]
    for repeat in range(common.repeats):
        for load, rate in points:
            for number, scheme in enumerate(schemes):
                plan = ClientPlan(
                    scheme,
                    rate,
                    seconds(common.duration, "--duration"),
                    _warmup_s(common),
                    parse_arrivals("poisson"),
                    common.seed * 1_000_003 + repeat * 1009 + number,
                )
                summary = run_clients(plan, [source], servers)
                record = make_record(
                    plan, summary, workload, source="loadgen", load=load, time_scale=scale
                )
                record.repeat, record.servers, record.workers = repeat, len(servers), workers
                yield record
