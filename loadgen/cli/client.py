# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen client``: one run against servers that are there."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from loadgen.cli import EXIT_SCHEDULE
from loadgen.cli.io_options import io_options, take_io
from loadgen.cli.output import emit_records, writable
from loadgen.cli.types import parse_endpoint, parse_netns, positive, seconds
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.clients import run_clients
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.io import IoOptions
from loadgen.traffic.probe import probe
from loadgen.traffic.run_record import emulated, make_record
from loadgen.workload.arrivals import parse_arrivals
from loadgen.workload.schemes import SCHEMES, Party, find_scheme
from loadgen.workload.services import Workload, parse_workload
from netclone_host.errors import UserError

XDP_PORT = 20000


@dataclass(frozen=True)
class Asked:
    """The options as they were given."""

    servers: tuple[str, ...]
    scheme: str
    rate: float | None
    load: float | None
    workers: int
    service: str
    jitter: str
    draw_at_client: bool
    time_scale: float
    duration: str
    warmup: str
    arrivals: str
    threads: int
    source: str | None
    late: str
    busy: bool
    netns: str | None
    seed: int
    no_probe: bool

    def local(self, targets: Sequence[Endpoint], io: IoOptions) -> Endpoint:
        """Where the requests come from. Raises `UserError`."""
        anywhere = "::" if targets[0].is_ip6 else "0.0.0.0"
        if io.is_xdp and self.source is None:
            raise UserError("af_xdp needs a source address", "give the interface's with --from")
        port = XDP_PORT if io.is_xdp else 0
        return parse_endpoint(self.source or anywhere, parse_netns(self.netns), port)

    def plan(self, workload: Workload, scale: float, n_servers: int, io: IoOptions) -> ClientPlan:
        """What the clients do. Raises `UserError`."""
        scheme = find_scheme(self.scheme)
        if scheme.cloner is Party.CLIENT and n_servers < scheme.min_servers:
            raise UserError(f"{scheme.name} needs two servers", "give --server once for each")
        return ClientPlan(
            scheme,
            _rate(self.rate, self.load, workload, n_servers, self.workers, scale),
            seconds(self.duration, "--duration"),
            seconds(self.warmup, "--warmup"),
            parse_arrivals(self.arrivals),
            self.seed,
            late_s=seconds(self.late, "--late"),
            threads=self.threads,
            busy=self.busy,
            draw_at_client=workload if self.draw_at_client else None,
            io=io,
        )


@click.command()
@click.option(
    "--server",
    "servers",
    multiple=True,
    required=True,
    help="A server; repeat in the order of ids.",
)
@click.option("--scheme", default="baseline", show_default=True, help=", ".join(SCHEMES))
@click.option("--rate", type=float, help="Requests per second.")
@click.option("--load", type=float, help="Instead: share of all workers' time (0.3).")
@click.option("--workers", type=click.IntRange(1), default=15, show_default=True)
@click.option(
    "--service", default="exp:25us", show_default=True, help="Service times of the servers."
)
@click.option("--jitter", default="none", show_default=True, help="PxM, as the servers have it.")
@click.option(
    "--draw-at-client", is_flag=True, help="Send the service time along, the same to every server."
)
@click.option(
    "--time-scale", type=float, default=1.0, show_default=True, help="As the servers have it."
)
@click.option("--duration", default="5s", show_default=True, help="Measured window.")
@click.option("--warmup", default="500ms", show_default=True)
@click.option(
    "--arrivals", default="poisson", show_default=True, help="Or constant, bursty:N, trace:FILE."
)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--from", "source", help="Local address.  [default: any]")
@click.option("--late", default="100us", show_default=True, help="A send later than this is late.")
@click.option("--busy", is_flag=True, help="Never sleep; takes a core per thread.")
@click.option("--netns", help="Network namespace to work in.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--no-probe", is_flag=True, help="Skip the check that every server answers.")
@io_options
@click.option("--trace", "trace_to", help="Write a 40-byte entry per answer (docs/loadgen.md).")
@click.option(
    "--json",
    "json_to",
    callback=writable,
    help="Write the record to this file, - for standard output.",
)
def client(json_to: str | None, trace_to: str | None, **options: Any) -> None:
    """Send requests on a schedule and measure each one from its scheduled time.

    Exit status 3 when the schedule could not be kept or the run ended early.
    """
    io = take_io(options)
    asked = Asked(**options)
    workload = parse_workload(asked.service, asked.jitter)
    scale = positive(asked.time_scale, "--time-scale")
    targets = [parse_endpoint(text) for text in asked.servers]
    local = asked.local(targets, io)
    plan = asked.plan(workload, scale, len(targets), io)
    if not asked.no_probe:
        probe(Endpoint(local.ip, 0, local.netns), targets)
    with _trace_file(trace_to) as fd:
        plan = _with_trace(plan, fd, asked.threads)
        summary = run_clients(plan, [local], targets)
    setting = emulated(
        workload, "loadgen", time_scale=scale, servers=len(targets), workers=asked.workers
    )
    record = make_record(
        plan, summary, setting, load=math.nan if asked.load is None else asked.load
    )
    emit_records([record], json_to)
    if not record.kept_schedule:
        sys.exit(EXIT_SCHEDULE)


def _rate(
    rate: float | None, load: float | None, workload: Workload, servers: int, workers: int,
    scale: float,
) -> float:  # fmt: skip
    if (rate is None) == (load is None):
        raise UserError("give either --rate or --load", "for instance --rate 10000")
    if rate is not None:
        return positive(rate, "--rate")
    assert load is not None
    return workload.rate_rps(positive(load, "--load"), servers, workers, scale)


def _with_trace(plan: ClientPlan, fd: int | None, streams: int) -> ClientPlan:
    return plan if fd is None else replace(plan, trace_fds=(fd,) * streams)


@contextlib.contextmanager
def _trace_file(name: str | None) -> Iterator[int | None]:
    """Appends of whole entries by all streams. It has its name once the run is over, and none
    before: whatever ends the run early leaves nothing behind."""
    if name is None:
        yield None
        return
    path = Path(name)
    try:
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        fd = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_APPEND, 0o644)
    except OSError as error:
        raise _no_trace(name, error) from error
    try:
        yield fd
        try:
            os.fsync(fd)
            # A descriptor is named, and not used, so that links are followed (linkat).
            os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True)
        except OSError as error:
            raise _no_trace(name, error) from error
    finally:
        os.close(fd)


def _no_trace(name: str, error: OSError) -> UserError:
    return UserError(
        f"cannot write '{name}': {error.strerror}", "choose a new name in another place"
    )
