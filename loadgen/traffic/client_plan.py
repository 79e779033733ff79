# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One run of the clients: what they send, when, and how long they wait."""

from __future__ import annotations

from dataclasses import dataclass

from loadgen.native.client_structs import Mix
from loadgen.traffic.io import SOCKET, IoOptions
from loadgen.workload.arrivals import POISSON, Arrivals
from loadgen.workload.schemes import Scheme
from loadgen.workload.services import Workload

PAYLOAD_LEN = 84
"""The NetClone header (28 bytes) and the generator's own part (56 bytes)."""


@dataclass(frozen=True)
class ClientPlan:
    """One run of all clients together. Rates and times are real, not divided back."""

    scheme: Scheme
    rate_rps: float
    duration_s: float
    """Length of the measured window, which begins after `warmup_s`."""
    warmup_s: float = 0.0
    arrivals: Arrivals = POISSON
    seed: int = 1
    start_ns: int = 0
    """CLOCK_MONOTONIC at which the schedule begins; 0: as soon as the sockets are open."""
    late_s: float = 100e-6
    """A request that leaves more than this after its time is late."""
    quiet_s: float = 1.0
    """After the end: wait for answers until none has come for this long,"""
    drain_s: float = 30.0
    """and no longer than this."""
    stamp_groups: int = 0
    """Number of groups to draw GRP from; 0 leaves the stamping to the client's program."""
    filter_tables: int = 2
    payload_len: int = PAYLOAD_LEN
    threads: int = 1
    """Streams per client node."""
    busy: bool = False
    """Never sleep between requests (needs a core per thread)."""
    keen: bool = False
    """Sleep, but spin through the last 150 us before each request."""
    saturate: bool = False
    """As fast as it goes, without a schedule."""
    kernel_timestamps: bool = True
    draw_at_client: Workload | None = None
    """Service times are drawn by the client, the same for every server that gets the request."""
    mix: Mix | None = None
    io: IoOptions = SOCKET
    trace_fds: tuple[int, ...] = ()
    """One per stream; gets a `struct lg_trace_entry` per answer."""
