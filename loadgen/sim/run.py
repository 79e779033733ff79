# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs simulations: replications over processes (or a Dask cluster), merged into results.

Results depend on the points and their seeds alone, not on how many processes there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadgen.native.histogram import NativeHist
from loadgen.sim import native
from loadgen.sim.executors import run_jobs
from loadgen.sim.model import Model, Point, native_config
from loadgen.workload.confidence import Estimate, half_width
from loadgen.workload.percentiles import with_latency
from loadgen.workload.records import RunRecord

U64Array = npt.NDArray[np.uint64]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
Advance = Callable[[int], None]
"""Called with the number of measured requests of each replication that has ended."""


@dataclass(frozen=True)
class Replication:
    """Sums of one replication, as plain data that another process can send."""

    counts: dict[str, int]
    areas: dict[str, float]
    metrics_us: dict[str, float]
    """Mean and quantiles of the latency."""
    buckets: U64Array
    """Indices of the histogram's buckets in use, ..."""
    bucket_counts: U64Array
    """... and what is in them."""
    moments: tuple[int, int, int, int, float, float]
    """count, clipped, min, max, sum, sum_sq of the histogram (ns)."""
    timeline: tuple[int, ...]


def run_replication(point: Point, number: int) -> Replication:
    """Simulates replication `number` of `point`."""
    # The configuration refers to a trace, if there is one: alive until the call returns.
    config = native_config(point, number)
    result, hist, timeline = native.run(config, point.timeline_buckets)
    counts = np.ctypeslib.as_array(hist.bucket)
    used = np.flatnonzero(counts)
    metrics = {name: hist.quantile_ns(q) * 1e-3 for name, q in QUANTILES.items()}
    metrics["mean"] = hist.mean_ns * 1e-3
    return Replication(
        counts={name: getattr(result, name) for name in native.COUNTS},
        areas={name: getattr(result, name) for name in native.AREAS},
        metrics_us=metrics,
        buckets=used.astype(np.uint64),
        bucket_counts=counts[used].astype(np.uint64),
        moments=(hist.count, hist.clipped, hist.min, hist.max, hist.sum, hist.sum_sq),
        timeline=tuple(timeline),
    )


@dataclass(frozen=True)
class PointResult:
    """All replications of a point, merged."""

    point: Point
    replications: tuple[Replication, ...]
    latency: NativeHist

    def count(self, name: str) -> int:
        """Sum over the replications of a count of `struct sim_result`."""
        return sum(r.counts[name] for r in self.replications)

    def area(self, name: str) -> float:
        return math.fsum(r.areas[name] for r in self.replications)

    def mean_level(self, name: str) -> float:
        """Time average of an area: `in_system_area`, `busy_area`, `queued_area`."""
        return self.area(name) / self.area("window_ns")

    @property
    def utilisation(self) -> float:
        """Share of the workers' time that is spent on requests and clones."""
        return self.mean_level("busy_area") / sum(self.point.model.workers)

    @property
    def achieved_rps(self) -> float:
        return self.count("answers") / (self.area("window_ns") * 1e-9)

    def estimate_us(self, metric: str, confidence: float = 0.95) -> Estimate:
        """`mean`, `p50`, `p90`, `p99` or `p999` of the latency in us: over all requests, with
        an interval from the replications."""
        if metric == "mean":
            value = self.latency.mean_ns
        else:
            value = self.latency.quantile_ns(QUANTILES[metric])
        samples = [r.metrics_us[metric] for r in self.replications]
        return Estimate(value * 1e-3, half_width(samples, confidence))

    def record(self) -> RunRecord:
        """The same record that the rack and the generator write."""
        point, model = self.point, self.point.model
        sent, answered = self.count("sent"), self.count("answered")
        record = RunRecord(
            source="simulator",
            scheme=point.scheme,
            service=_texts(model, "service"),
            jitter=_texts(model, "jitter"),
            load=point.load,
            offered_rps=model.rate_rps(point.load),
            achieved_rps=self.achieved_rps,
            sent=sent,
            answered=answered,
            unanswered=sent - answered,
            redundant=self.count("slipped"),
            cloned=self.count("cloned"),
            clones_dropped=self.count("clones_refused"),
            filtered=self.count("filtered"),
            xdp_mode="simulated",
            servers=len(model.workers),
            workers=max(model.workers),
            clients=model.clients,
            duration_s=self.area("window_ns") * 1e-9,
            seed=point.seed,
            io="simulated",
            timestamps="simulated",
            server_rejected=self.count("queue_overflows"),
            replications=len(self.replications),
            utilisation=self.utilisation,
            half_widths={f"{m}_us": self.estimate_us(m).half_width for m in ("mean", *QUANTILES)},
            counters={
                name: self.count(name)
                for name in ("packets_lost", "coordinator_overflows", "delivered_twice")
            },
        )
        return with_latency(record, self.latency)


def _texts(model: Model, field: str) -> str:
    """`exp:25us`, or for several classes `0.99*exp:25us + 0.01*...`."""
    texts = [str(getattr(c.workload, field)) for c in model.classes]
    if field == "service":
        texts = [c.workload.service.text for c in model.classes]
    if len(set(texts)) == 1:
        return texts[0]
    return " + ".join(f"{c.share:g}*{t}" for c, t in zip(model.classes, texts, strict=True))


def merge(point: Point, replications: Sequence[Replication]) -> PointResult:
    """One result of the replications of `point`, given in their order."""
    hist = NativeHist()
    buckets = np.ctypeslib.as_array(hist.bucket)
    for r in replications:
        buckets[r.buckets] += r.bucket_counts
    moments = [r.moments for r in replications]
    hist.count = sum(m[0] for m in moments)
    hist.clipped = sum(m[1] for m in moments)
    hist.min = min(m[2] for m in moments)
    hist.max = max(m[3] for m in moments)
    hist.sum = math.fsum(m[4] for m in moments)
    hist.sum_sq = math.fsum(m[5] for m in moments)
    return PointResult(point, tuple(replications), hist)


def run_points(
    points: Sequence[Point],
    processes: int | None = None,
    scheduler: str | None = None,
    advance: Advance | None = None,
) -> list[PointResult]:
    """Simulates all points; results in the order of `points`.

    `processes`: by default one for each processor. `scheduler`: address of a Dask scheduler
    whose workers do the work instead. Raises `UserError` before anything runs if a point
    cannot be simulated.
    """
    for point in points:
        point.check()
    native.library()
    jobs = [(p, n) for p in range(len(points)) for n in range(points[p].replications)]
    arguments = [(points[p], n) for p, n in jobs]
    done: dict[tuple[int, int], Replication] = {}
    for position, replication in run_jobs(run_replication, arguments, processes, scheduler):
        done[jobs[position]] = replication
        if advance is not None:
            advance(arguments[position][0].requests_each)
    return [
        merge(point, [done[p, n] for n in range(point.replications)])
        for p, point in enumerate(points)
    ]
