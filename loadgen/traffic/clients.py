# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Open-loop clients: plans a run, drives one thread of C a stream, adds up the results.

Use::

    plan = ClientPlan(scheme=find_scheme("netclone"), rate_rps=18_000, duration_s=5)
    summary = run_clients(plan, [Endpoint("10.0.1.1", 0, netns)], server_endpoints)
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from loadgen.machine.priority import prefer_this_thread, waited_for_processor_ns
from loadgen.native.client_structs import ClientConfig, ClientEnd, ClientFlag, ClientResult, Mix
from loadgen.native.distribution import native_gaps, native_workload
from loadgen.native.histogram import Moments, NativeHist
from loadgen.native.io_structs import AlignedPeer
from loadgen.native.stalls import Stalls
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.af_xdp import XdpIo
from loadgen.traffic.endpoints import Endpoint, native_peers
from loadgen.traffic.io import SOCKET, IoOptions, open_io
from loadgen.traffic.link_addresses import set_macs
from loadgen.traffic.threads import LoopThread
from loadgen.traffic.udp_io import UdpIo
from loadgen.workload.arrivals import POISSON, Arrivals
from loadgen.workload.distributions import Kind
from loadgen.workload.schemes import Scheme
from loadgen.workload.services import Workload
from netclone_host.errors import UserError

PAYLOAD_LEN = 84
"""The NetClone header (28 bytes) and the generator's own part (56 bytes)."""
LATE_SHARE = 0.01
"""A run kept its schedule when no more than this share of its sends was late."""
CLOCK_STEP_NS = 1_000_000
START_DELAY_S = 0.05
START_DELAY_STREAM_S = 1e-3
"""Further, for each stream: threads take time to start."""
MAX_STREAMS = 1024


@dataclass(frozen=True)
class ClientPlan:
    """One run of all clients together. Rates and times are real, not divided back."""

    scheme: Scheme
    rate_rps: float
    duration_s: float
    """Of the measured window, which begins after `warmup_s`."""
    warmup_s: float = 0.0
    arrivals: Arrivals = POISSON
    seed: int = 1
    start_ns: int = 0
    """CLOCK_MONOTONIC at which the schedule begins; 0: as soon as the sockets are open."""
    late_s: float = 100e-6
    """A request sent later than this after its time is late."""
    quiet_s: float = 1.0
    """After the end: wait for answers until none came for so long,"""
    drain_s: float = 30.0
    """and not longer than this."""
    stamp_groups: int = 0
    """Number of groups to draw GRP from; 0 leaves the stamping to the client's program."""
    filter_tables: int = 2
    payload_len: int = PAYLOAD_LEN
    threads: int = 1
    """Streams a client node."""
    busy: bool = False
    """Never sleep between requests (needs a core a thread)."""
    keen: bool = False
    """Sleep, but spin through the last 150 us before each request."""
    saturate: bool = False
    """As fast as it goes, without a schedule."""
    kernel_timestamps: bool = True
    draw_at_client: Workload | None = None
    """Service times are drawn by the client, the same for both copies of a request."""
    mix: Mix | None = None
    io: IoOptions = SOCKET
    trace_fds: tuple[int, ...] = ()
    """One a stream: gets a `struct lg_trace_entry` an answer."""


@dataclass
class ClientSummary:
    """Sums over all streams; counts are of requests scheduled inside the measured window."""

    scheduled: int = 0
    sent: int = 0
    answered: int = 0
    redundant: int = 0
    copies_sent: int = 0
    responses: int = 0
    window_answers: int = 0
    late_sends: int = 0
    max_late_ns: int = 0
    send_errors: int = 0
    stale: int = 0
    wrong_values: int = 0
    store_errors: int = 0
    rx_dropped: int = 0
    rx_invalid: int = 0
    all_sent: int = 0
    cpu_ns: int = 0
    """Processor time of the client threads until the end of the window."""
    io: str = "socket"
    clock_step_ns: int = 0
    duration_s: float = 0.0
    """Of the measured window; of a partial run as much as passed of it."""
    partial: bool = False
    notes: list[str] = field(default_factory=list)
    latency: NativeHist = field(default_factory=NativeHist)
    """Arrival of the first answer minus scheduled time, real ns."""
    late: NativeHist = field(default_factory=NativeHist)
    """Sent minus scheduled, real ns."""
    sent_gap: NativeHist = field(default_factory=NativeHist)
    sched_gap: NativeHist = field(default_factory=NativeHist)
    unheld_gap: Moments = field(default_factory=Moments)
    """`sent_gap` as it would be had every send that a stall held left when it was due."""
    stalls: Stalls = field(default_factory=Stalls)
    """Times over 0.1 ms for which the machine did not run a client that was to run; `held`
    counts the sends that were due then."""
    waited_ns: int = 0
    """For how long the clients waited for a processor that another program had."""

    @property
    def unanswered(self) -> int:
        """Requests sent and never answered."""
        return self.sent - self.answered

    @property
    def unsent(self) -> int:
        """Requests that were due and never left."""
        return self.scheduled - self.sent

    @property
    def kept_schedule(self) -> bool:
        """All was sent, at most `LATE_SHARE` of it late, and the clock was left alone."""
        return not self.unsent and self.late_sends <= LATE_SHARE * self.sent and not self.partial

    @property
    def achieved_rps(self) -> float:
        """First answers that arrived in the window, per second."""
        return self.window_answers / self.duration_s if self.duration_s else math.nan

    @property
    def offered_rps(self) -> float:
        """Requests that were due in the window, per second."""
        return self.scheduled / self.duration_s if self.duration_s else math.nan


class Stop:
    """Ends a run early from another thread; its result is then partial."""

    def __init__(self) -> None:
        self.flag = ctypes.c_uint32(0)

    def set(self) -> None:
        """Asks the clients to end at once."""
        self.flag.value = 1


class _Stream:
    """One thread of C with its socket, configuration and result."""

    def __init__(self, number: int, io: UdpIo | XdpIo) -> None:
        self.number = number
        self.io = io
        self.config = ClientConfig()
        self.result = ClientResult()
        self.error = 0
        self.waited_ns = 0
        self.kept: object = None
        """What the configuration points to, kept alive with it."""

    def run(self) -> None:
        prefer_this_thread(sleeps=not self.config.flags & (ClientFlag.BUSY | ClientFlag.SATURATE))
        before_ns = waited_for_processor_ns()
        self.error = traffic_library().lg_client_run(
            ctypes.byref(self.config), ctypes.byref(self.result)
        )
        self.waited_ns = waited_for_processor_ns() - before_ns


def run_clients(
    plan: ClientPlan,
    clients: Sequence[Endpoint],
    servers: Sequence[Endpoint],
    stop: Stop | None = None,
) -> ClientSummary:
    """Runs `plan` from every endpoint of `clients` against `servers`.

    `clients` may have port 0 (any). `servers` are listed by server id, the primary first;
    for a scheme with a coordinator it is the coordinator alone. The rate is split evenly over
    all streams. Blocks for warm-up, duration and drain. Raises `UserError`.
    """
    stop = stop or Stop()
    if plan.io.is_xdp and plan.threads > 1:
        raise UserError("af_xdp drives all queues of an interface in one thread", "use 1 thread")
    if len(clients) * plan.threads > MAX_STREAMS:
        raise UserError(
            f"{len(clients) * plan.threads} threads are more than {MAX_STREAMS}",
            "one thread sends some 100,000 requests per second",
        )
    if len({endpoint.is_ip6 for endpoint in (*clients, *servers)}) > 1:
        raise UserError(
            f"{clients[0].ip} and {servers[0].ip} are of different families",
            "give addresses that are all IPv4 or all IPv6",
        )
    peers = native_peers(servers)
    streams: list[_Stream] = []
    try:
        for client in clients:
            for _ in range(plan.threads):
                io = open_io(client, plan.io, kernel_timestamps=plan.kernel_timestamps)
                streams.append(_Stream(len(streams), io))
        if plan.io.is_xdp:
            set_macs(peers, servers, clients[0], plan.io.interface())
        _configure(plan, streams, peers, stop)
        threads = [LoopThread(s.run, f"client-{s.number}") for s in streams]
        _run(threads, stop)
    finally:
        for stream in streams:
            stream.io.close()
    return _sum(plan, streams)


def _run(threads: Sequence[LoopThread], stop: Stop) -> None:
    """To their end, or an interruption's; what they use may be freed then."""
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.over.wait()
    except BaseException:
        stop.set()
        for thread in threads:
            if thread.ident is not None:
                thread.wait_out()
        raise


def _configure(
    plan: ClientPlan, streams: Sequence[_Stream], peers: ctypes.Array[AlignedPeer], stop: Stop
) -> None:
    run = int.from_bytes(os.urandom(4), "little")
    delay_s = START_DELAY_S + START_DELAY_STREAM_S * len(streams)
    start_ns = plan.start_ns or time.monotonic_ns() + int(delay_s * 1e9)
    gap, burst = native_gaps(plan.arrivals, plan.rate_rps / len(streams)), plan.arrivals.burst
    flags = (
        (ClientFlag.BUSY if plan.busy else 0)
        | (ClientFlag.SATURATE if plan.saturate else 0)
        | (ClientFlag.KEEN if plan.keen else 0)
    )
    for stream in streams:
        c = stream.config
        c.io = stream.io.handle
        c.peers = ctypes.cast(peers, type(c.peers))
        c.n_peers = len(peers)
        c.target = plan.scheme.target
        c.flags = flags
        c.run = run
        c.stream = stream.number
        c.n_groups = plan.stamp_groups
        c.n_filter_tables = plan.filter_tables
        if isinstance(stream.io, XdpIo):  # passes no program that would do it
            c.n_groups, c.n_filter_tables = stream.io.n_groups, stream.io.filter_tables
        c.payload_len = plan.payload_len
        c.seed = plan.seed
        # Streams of constant gaps interleave instead of bursting together.
        c.start_ns = start_ns
        if plan.arrivals.kind is Kind.CONST:
            c.start_ns += int(1e9 / plan.rate_rps * stream.number)
        c.warmup_ns = int(plan.warmup_s * 1e9)
        c.duration_ns = int(plan.duration_s * 1e9)
        c.quiet_ns = int(plan.quiet_s * 1e9)
        c.drain_ns = int(plan.drain_s * 1e9)
        c.late_ns = int(plan.late_s * 1e9)
        c.gap = gap
        c.burst = burst
        c.trace_fd = plan.trace_fds[stream.number] if plan.trace_fds else -1
        if plan.draw_at_client is not None:
            c.draw_service = 1
            c.service = native_workload(plan.draw_at_client)
        if plan.mix is not None:
            c.mix = plan.mix
        c.stop = ctypes.pointer(stop.flag)
        stream.kept = (peers, gap, stop)


_SUMMED = [
    "scheduled",
    "sent",
    "answered",
    "redundant",
    "copies_sent",
    "responses",
    "window_answers",
    "late_sends",
    "send_errors",
    "stale",
    "wrong_values",
    "store_errors",
    "rx_dropped",
    "rx_invalid",
    "all_sent",
    "cpu_ns",
]


def _sum(plan: ClientPlan, streams: Sequence[_Stream]) -> ClientSummary:
    total = ClientSummary()
    for stream in streams:
        r = stream.result
        if stream.error:
            raise UserError(
                f"a client could not start: {os.strerror(-stream.error)}", "see docs/loadgen.md"
            )
        for name in _SUMMED:
            setattr(total, name, getattr(total, name) + getattr(r, name))
        total.duration_s = max(total.duration_s, r.measured_ns * 1e-9)
        total.max_late_ns = max(total.max_late_ns, r.max_late_ns)
        total.clock_step_ns = max(total.clock_step_ns, r.clock_step_ns, key=abs)
        total.waited_ns += stream.waited_ns
        for name in ("latency", "late", "sent_gap", "sched_gap", "unheld_gap", "stalls"):
            getattr(total, name).merge(getattr(r, name))
        _note_end(total, r)
        total.io = stream.io.name
    if total.late_sends > LATE_SHARE * total.sent and total.stalls.held:
        total.notes.append(total.stalls.describe("sends"))
    note_clock(total, total.clock_step_ns, kernel_timestamps=plan.kernel_timestamps)
    return total


def note_clock(total: ClientSummary, step_ns: int, *, kernel_timestamps: bool) -> None:
    """Notes a step of CLOCK_REALTIME. Only the kernel's timestamps are made with it: with them
    some latencies are wrong, and the run is partial."""
    if abs(step_ns) > CLOCK_STEP_NS:
        total.notes.append(f"the clock was stepped by {step_ns * 1e-6:.1f} ms")
        total.partial = total.partial or kernel_timestamps


def _io_failure(result: ClientResult) -> str:
    if result.io_error == errno.ENOBUFS:
        return f"the receive ring starved, {result.rx_dropped} packets were dropped"
    if result.io_error == errno.ENETDOWN:
        return "the link went down"
    return f"the network failed: {os.strerror(result.io_error)}"


def _note_end(total: ClientSummary, result: ClientResult) -> None:
    if result.send_errors:
        total.notes.append(f"send failed: {os.strerror(result.send_errno)}")
    match ClientEnd(result.end):
        case ClientEnd.COMPLETE:
            return
        case ClientEnd.STOPPED:
            total.notes.append("stopped early")
        case ClientEnd.IO:
            total.notes.append(_io_failure(result))
        case ClientEnd.TRACE:
            raise UserError(
                f"the trace could not be written: {os.strerror(result.io_error)}",
                "choose a place with more room",
            )
    total.partial = True


def schedule_gaps(plan: ClientPlan, requests: int) -> NativeHist:
    """The gaps of the first `requests` requests of the plan's first stream, in ns, as a run
    schedules them; nothing is sent."""
    config, result = ClientConfig(), ClientResult()
    config.seed = plan.seed
    config.gap = native_gaps(plan.arrivals, plan.rate_rps)
    config.burst = plan.arrivals.burst
    error = traffic_library().lg_client_schedule(
        ctypes.byref(config), ctypes.c_uint64(requests), ctypes.byref(result)
    )
    if error:
        raise UserError(f"no schedule: {os.strerror(-error)}", "see docs/loadgen.md")
    gaps: NativeHist = result.sched_gap
    return gaps
