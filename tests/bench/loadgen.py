# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Benchmark of the generator: the highest rate of each back end, over one veth pair and in one
run, against the simplest honest client in C. Writes out/bench/loadgen.json.

At the other end of the pair an XDP program sends each request back from the driver; every
client has the client's program on its side. The clients run on one core; the other end, and the
receive processing of both, on another, where there is one, as if another machine and a network
card's interrupts did them. With one core everything shares it.

Rates are of answered requests. In every round each client runs once with the interfaces as
they are and once with interrupts coalesced, and its better rate counts: what suits one client
does not suit the other. A ratio is formed inside a round, since the machine's speed
changes from one to the next; reported are the median round and the quartiles, and beside them
each client's best round, which other work on the machine disturbs least.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import statistics
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loadgen.machine import napi
from loadgen.machine.priority import prefer_this_thread
from loadgen.native.client_structs import PlainResult
from loadgen.native.library import build_directory
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.clients import run_clients
from loadgen.traffic.endpoints import native_peer
from loadgen.traffic.io import SOCKET, IoOptions
from loadgen.traffic.probe import probe
from loadgen.traffic.udp_io import UdpIo
from loadgen.workload.schemes import find_scheme
from netclone_host.attach import attach, detach
from netclone_host.attach.loaders.libbpf import load_object
from netclone_host.attach.request import AttachRequest
from netclone_host.attach.roles import Role
from netclone_host.kernel import netns, objects
from tests.bench import results
from tests.veth_pair import IFNAME, Pair, veth_pair

SECONDS = float(os.environ.get("NETCLONE_BENCH_SECONDS", "0.2"))
ROUNDS = 10
COALESCE_NS = (0, 50_000)
OUT = Path("out/bench/loadgen.json")
PLAIN = "plain"
TARGET = {"socket": 1.0, "af_xdp": 4.0}
"""Times the simplest client's rate."""

FIGURES: tuple[tuple[str, str, str, Callable[[list[float]], float]], ...] = (
    ("answered_rps", "answered_rps", "requests/s", statistics.median),
    ("best_answered_rps", "answered_rps", "requests/s", max),
    ("cpu_rps", "cpu_rps", "requests/cpu-second", statistics.median),
)
"""Name, field of `Rate`, unit, and what of the rounds is reported."""


@dataclass(frozen=True)
class Rate:
    """Of one run: answered requests per second, and per second of the client's processor time."""

    answered_rps: float
    cpu_rps: float


@contextlib.contextmanager
def reflecting_pair() -> Iterator[Pair]:
    """A pair whose server end answers in the driver and whose client end has its program."""
    with veth_pair() as pair, contextlib.ExitStack() as undo:
        with netns.entered(pair.client.netns):
            attach.attach(AttachRequest((IFNAME,), Role.CLIENT, servers=2))
        undo.callback(_detach, pair)
        with netns.entered(pair.server.netns):
            reflector = undo.enter_context(load_object(build_directory() / "bpf/reflect.bpf.o"))
            link = objects.create_xdp_link(
                reflector.programs["lg_reflect"], socket.if_nametoindex(IFNAME), 0
            )
        undo.callback(os.close, link)
        yield pair


def _detach(pair: Pair) -> None:
    with netns.entered(pair.client.netns):
        detach.detach(IFNAME)


@contextlib.contextmanager
def divided_cores(pair: Pair) -> Iterator[None]:
    """The calling thread, and those that it starts, on one core before everything ordinary, the
    interfaces on another."""
    former = os.sched_getaffinity(0)
    first, *others = sorted(former)
    if others:
        for node in (pair.client, pair.server):
            napi.run_on_core(node.netns, IFNAME, others[0])
    os.sched_setaffinity(0, {first})
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, former)


def plain(pair: Pair) -> Rate:
    """One sendto and one recvfrom a request."""
    lib = traffic_library()
    result = PlainResult()

    def run(fd: int) -> None:
        prefer_this_thread(sleeps=False)
        lib.lg_plain_client_run(
            ctypes.c_int(fd),
            ctypes.byref(native_peer(pair.server.endpoint())),
            ctypes.c_uint64(int(SECONDS * 1e9)),
            ctypes.byref(result),
        )

    with UdpIo(pair.client.endpoint(0)) as io:
        thread = threading.Thread(target=run, args=(lib.lg_io_fd(ctypes.c_void_p(io.handle)),))
        thread.start()
        thread.join()
    return Rate(result.answered / SECONDS, result.answered / (result.cpu_ns * 1e-9))


def generator(pair: Pair, io: IoOptions) -> Rate:
    """The generator's client as fast as it goes."""
    plan = ClientPlan(
        find_scheme("netclone"), rate_rps=1e6, duration_s=SECONDS, quiet_s=0.05, saturate=True,
        kernel_timestamps=False, io=io,
    )  # fmt: skip
    summary = run_clients(plan, [pair.client.endpoint(5555)], [pair.server.endpoint()])
    return Rate(summary.answered / SECONDS, summary.answered / (summary.cpu_ns * 1e-9))


Round = dict[str, Rate]


def measure() -> list[Round]:
    """One entry a round: the better run of each client."""
    rounds = []
    with reflecting_pair() as pair, divided_cores(pair):
        probe(pair.client.endpoint(0), [pair.server.endpoint()])
        runs: dict[str, Callable[[], Rate]] = {
            PLAIN: lambda: plain(pair),
            "socket": lambda: generator(pair, SOCKET),
            "af_xdp": lambda: generator(pair, IoOptions("af_xdp", IFNAME, endure=True)),
        }
        for number in range(ROUNDS):
            tries: dict[str, list[Rate]] = {name: [] for name in runs}
            for time_ns in COALESCE_NS:
                for node in (pair.client, pair.server):
                    napi.coalesce(node.netns, IFNAME, time_ns)
                # The other way round every other time: a machine that slows down favours none.
                for name in list(runs)[:: 1 if number % 2 else -1]:
                    tries[name].append(runs[name]())
            rounds.append(
                {name: max(rates, key=lambda r: r.answered_rps) for name, rates in tries.items()}
            )
    return rounds


def records(rounds: list[Round]) -> list[results.Record]:
    """Benchmark records: each back end beside the simplest client."""
    rows = []
    for name, target in TARGET.items():
        for title, what, unit, of_rounds in FIGURES:
            own, reference = (
                of_rounds([getattr(found[who], what) for found in rounds]) for who in (name, PLAIN)
            )
            rows.append(
                results.record(
                    f"loadgen_{name}_{title}",
                    round(own),
                    unit,
                    "one sendto and one recvfrom a request",
                    round(reference),
                )
            )
        ratios = [found[name].answered_rps / found[PLAIN].answered_rps for found in rounds]
        low, middle, high = statistics.quantiles(ratios, n=4)
        for which, value in (("lower_quartile", low), ("median", middle), ("upper_quartile", high)):
            rows.append(
                results.record(
                    f"loadgen_{name}_ratio_{which}",
                    round(value, 2),
                    "times the simplest client, in the same round",
                    "at least, in the median round",
                    target,
                )
            )
    return rows


def main() -> None:
    rows = records(measure())
    for row in rows:
        print(
            f"{row['name']:36} {row['value']:>12,} {row['unit']:44} "
            f"({row['reference_name']}: {row['reference_value']:,})"
        )
    results.write(OUT, rows)


if __name__ == "__main__":
    results.run(main)
