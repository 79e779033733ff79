# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Open-loop clients: drives one thread of C per stream, and adds up the results.

Use::

    plan = ClientPlan(scheme=find_scheme("netclone"), rate_rps=18_000, duration_s=5)
    summary = run_clients(plan, [Endpoint("10.0.1.1", 0, netns)], server_endpoints)
"""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Sequence

from loadgen.machine.priority import prefer_this_thread, waited_for_processor_ns
from loadgen.native.client_structs import ClientConfig, ClientEnd, ClientFlag, ClientResult
from loadgen.native.distribution import native_gaps, native_workload
from loadgen.native.histogram import NativeHist
from loadgen.native.io_structs import AlignedPeer
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.af_xdp import XdpIo
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.client_summary import LATE_SHARE, ClientSummary, note_clock
from loadgen.traffic.endpoints import Endpoint, native_peers
from loadgen.traffic.io import open_io
from loadgen.traffic.link_addresses import set_macs
from loadgen.traffic.threads import LoopThread
from loadgen.traffic.udp_io import UdpIo
from loadgen.workload.distributions import Kind
from loadgen.workload.schemes import Party
from netclone_host.errors import UserError

START_DELAY_S = 0.05
START_DELAY_STREAM_S = 1e-3
"""More for each stream: threads take time to start."""
MAX_STREAMS = 1024


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
    """Returns at their end, or once an interruption has ended them: then what they use may be
    freed."""
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
    "of_cloned",
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
    if plan.scheme.cloner is Party.SWITCH and total.responses and not total.of_cloned:
        total.notes.append("the switch cloned no request: is NetClone attached to it?")
    note_clock(total, total.clock_step_ns, kernel_timestamps=plan.kernel_timestamps)
    return total


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
