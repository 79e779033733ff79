# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is simulated: racks, servers, workloads, faults; and a point of it (scheme, load)."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace

from loadgen.native.distribution import native_workload
from loadgen.sim import native as simnative
from loadgen.sim.native import FaultKind
from loadgen.workload.schemes import Party, find_scheme
from loadgen.workload.services import Workload
from netclone_host.durations import LONGEST_NS
from netclone_host.errors import UserError

MAX_CLIENTS = 100_000
MAX_SLOTS_LOG2 = 24
MAX_REQUESTS = 10**12
PAPER_WORKERS = (15,) * 6
"""Six servers of 15 worker threads and a dispatcher (section 5.1)."""


@dataclass(frozen=True)
class RequestClass:
    """A kind of request: its share of all, how long it takes, whether it is a write."""

    workload: Workload
    share: float = 1.0
    no_clone: bool = False


@dataclass(frozen=True)
class Fault:
    """Something breaks, or comes back, `at_s` simulated seconds after the first measured
    request; `id` is the server's, or the rack's of a switch."""

    at_s: float
    kind: FaultKind
    id: int


@dataclass(frozen=True)
class Model:
    """Everything but the scheme and the load. Times in ns of simulated time."""

    classes: tuple[RequestClass, ...]
    workers: tuple[int, ...] = PAPER_WORKERS
    clients: int = 2
    racks: int = 1
    copies: int = 2
    """Of c-clone."""
    link_ns: float = 1000.0
    """Host to switch, one way."""
    switch_ns: float = 400.0
    """One pass of the switch's pipeline; a clone takes one more (recirculation)."""
    aggregation_ns: float = 1000.0
    """Rack to rack, one way."""
    dispatch_ns: float = 0.0
    client_ns: float = 0.0
    """What a client's receiver needs for a response."""
    coordinator_ns: float = 250.0
    """What the coordinator needs for a packet received or sent: 4 million packets a second."""
    coordinator_timeout_ns: float = 100e6
    coordinator_slots: int = 0
    """0: as many as the server has workers."""
    loss: float = 0.0
    queue_limit: int = 4096
    filter_tables: int = 2
    filter_slots_log2: int = 17
    server_timeout_ns: float = 0.0
    shared_service: bool = False
    """True: both copies of a request ask for the same time, and only jitter is a server's own.
    False: every execution draws its own."""
    count_in_flight: bool = False
    """True: servers' programs count requests in flight (`--state inflight`)."""
    faults: tuple[Fault, ...] = field(default=())

    @property
    def mean_ns(self) -> float:
        """Mean service time over all classes, jitter included."""
        return math.fsum(c.share * c.workload.mean_ns for c in self.classes)

    def rate_rps(self, load: float) -> float:
        """Requests per second that keep all workers busy to the fraction `load`."""
        return load * sum(self.workers) / (self.mean_ns * 1e-9)

    def check(self) -> None:
        """Raises `UserError` for the first thing that cannot be simulated."""
        limits = (
            ("--servers", len(self.workers), 1, simnative.MAX_SERVERS),
            ("--workers", min(self.workers, default=0), 1, 65535),
            ("--workers", max(self.workers, default=0), 1, 65535),
            ("--clients", self.clients, 1, MAX_CLIENTS),
            ("--racks", self.racks, 1, simnative.MAX_RACKS),
            ("--copies", self.copies, 1, 64),
            ("--filter-tables", self.filter_tables, 1, 16),
            ("--queue-limit", self.queue_limit, 1, 1 << 24),
            ("classes of requests", len(self.classes), 1, simnative.MAX_CLASSES),
            ("faults", len(self.faults), 0, simnative.MAX_FAULTS),
            ("--filter-slots (log2)", self.filter_slots_log2, 0, MAX_SLOTS_LOG2),
        )
        for what, value, low, high in limits:
            if not low <= value <= high:
                raise UserError(f"{what}: {value} is out of range", f"give {low} to {high}")
        if not 0 <= self.loss < 1:
            raise UserError(f"--loss: {self.loss:g} is out of range", "give 0 up to below 1")
        for fault in self.faults:
            of_switch = fault.kind in (FaultKind.SWITCH_DOWN, FaultKind.SWITCH_UP)
            count = self.racks if of_switch else len(self.workers)
            if not 0 <= fault.id < count:
                what = "rack" if of_switch else "server"
                raise UserError(f"there is no {what} {fault.id}", f"they are 0 to {count - 1}")


@dataclass(frozen=True)
class Point:
    """One scheme at one load, simulated `replications` times independently."""

    model: Model
    scheme: str
    load: float
    requests: int
    """Measured requests, over all replications."""
    replications: int = 10
    seed: int = 1
    timeline_s: float = 0.0
    """Width of a bucket of the timeline, in simulated seconds; 0: none."""
    timeline_buckets: int = 0
    label: str = ""

    @property
    def requests_each(self) -> int:
        return math.ceil(self.requests / self.replications)

    @property
    def warmup(self) -> int:
        """Requests of each replication that are not measured: a tenth of those that are, and
        at least 100 for every worker."""
        return max(self.requests_each // 10, 100 * sum(self.model.workers))

    def check(self) -> None:
        self.model.check()
        scheme = find_scheme(self.scheme)
        if self.requests > MAX_REQUESTS:
            raise UserError(
                f"{self.requests} requests are too many", f"give {MAX_REQUESTS} or fewer"
            )
        if not 0 < self.load <= 100:
            raise UserError(f"load {self.load:g} is out of range", "give more than 0, up to 100")
        if not 1 <= self.replications <= self.requests:
            raise UserError(
                f"{self.requests} requests cannot be split over {self.replications} replications",
                "simulate more requests or fewer replications",
            )
        rate_rps = self.model.rate_rps(self.load)
        if not (self.requests_each + self.warmup) * 1e9 <= LONGEST_NS * rate_rps:
            raise UserError(
                f"{self.requests} requests at load {self.load:g} take longer than "
                f"{LONGEST_NS * 1e-9:g} s of simulated time",
                "give fewer requests, a higher load or shorter services",
            )
        if scheme.cloner is Party.CLIENT and self.model.copies > len(self.model.workers):
            raise UserError(
                f"{self.model.copies} copies cannot go to {len(self.model.workers)} different "
                "servers",
                "give more --servers or fewer --copies",
            )
        alone = len(self.model.workers) < 2
        if alone and scheme.chooser is Party.SWITCH:
            raise UserError(
                f"{self.scheme} needs two servers, a group is a pair", "give --servers 2 or more"
            )


def seed_of(seed: int, replication: int) -> int:
    """64-bit seed of one replication. Schemes and loads share it: common random numbers."""
    text = f"{seed}/{replication}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def with_replications(point: Point, wanted: int) -> Point:
    """`point` with at most `wanted` replications, none of less than 1000 requests."""
    return replace(point, replications=max(1, min(wanted, point.requests // 1000)))


def native_config(point: Point, replication: int) -> simnative.NativeConfig:
    """The C structure of one replication."""
    model = point.model
    config = simnative.NativeConfig(
        scheme=find_scheme(point.scheme).simulated,
        servers=len(model.workers),
        clients=model.clients,
        racks=model.racks,
        copies=model.copies,
        classes=len(model.classes),
        faults=len(model.faults),
        queue_limit=model.queue_limit,
        filter_tables=model.filter_tables,
        filter_slots_log2=model.filter_slots_log2,
        coordinator_slots=model.coordinator_slots,
        count_in_flight=model.count_in_flight,
        shared_service=model.shared_service,
        seed=seed_of(point.seed, replication),
        warmup=point.warmup,
        requests=point.requests_each,
        rate_rps=model.rate_rps(point.load),
        timeline_ns=point.timeline_s * 1e9,
    )
    for name in (
        *("link_ns", "aggregation_ns", "switch_ns", "dispatch_ns", "client_ns", "loss"),
        *("coordinator_ns", "coordinator_timeout_ns", "server_timeout_ns"),
    ):
        setattr(config, name, getattr(model, name))
    config.workers[: len(model.workers)] = model.workers
    for position, kind in enumerate(model.classes):
        native = config.klass[position]
        native.share, native.no_clone = kind.share, kind.no_clone
        native.service = native_workload(kind.workload)
    for position, fault in enumerate(sorted(model.faults, key=lambda f: f.at_s)):
        config.fault[position] = simnative.NativeFault(fault.at_s * 1e9, fault.kind, fault.id)
    return config
