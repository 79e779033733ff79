# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Benchmark of the generator: the highest rate of each back end, over one veth pair and in one
run, against the simplest honest client in C. Writes out/bench/loadgen.json.

At the other end of the pair an XDP program sends each request back from the driver; every
client has the client's program on its side. Both ends coalesce interrupts, as network
interfaces do; everything, the other end too, runs on the client's core. Rates are of answered
requests. Each client is tried several times in turn, and its best counts, since whatever else
runs on the machine only slows it down; beside it stands the rate per second of the client's
processor time, which others disturb less.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loadgen.abi import PlainResult, traffic_library
from loadgen.clients import ClientPlan, run_clients
from loadgen.endpoints import UdpIo, native_peer, probe
from loadgen.io import SOCKET, IoOptions
from loadgen.lab import IFNAME, Node, Pair, veth_pair
from loadgen.native import build_directory
from loadgen.priority import prefer_this_thread
from loadgen.schemes import find_scheme
from netclone_host.bpf import attach, detach, kernel, netns
from netclone_host.bpf.libbpf_loader import load_object
from netclone_host.bpf.loader import Role
from netclone_host.bpf.request import AttachRequest

SECONDS = float(os.environ.get("NETCLONE_BENCH_SECONDS", "1"))
ROUNDS = 6
COALESCE_NS = 100_000
OUT = Path("out/bench/loadgen.json")


@dataclass(frozen=True)
class Rate:
    """Requests per second of wall time, and per second of the client's processor time."""

    sent_rps: float
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
            link = kernel.create_xdp_link(
                reflector.programs["lg_reflect"], socket.if_nametoindex(IFNAME), 0
            )
        undo.callback(os.close, link)
        for node in (pair.client, pair.server):
            coalesce(node)
        yield pair


def coalesce(node: Node) -> None:
    """The node's end is polled `COALESCE_NS` after a packet, not for each."""
    queue = f"/sys/class/net/{IFNAME}"
    script = (
        f"echo {COALESCE_NS} > {queue}/gro_flush_timeout; echo 1000 > {queue}/napi_defer_hard_irqs"
    )
    subprocess.run(["ip", "netns", "exec", node.netns.name, "sh", "-ec", script], check=True)


def _detach(pair: Pair) -> None:
    with netns.entered(pair.client.netns):
        detach.detach(IFNAME)


def plain(pair: Pair) -> tuple[int, int, float]:
    """One sendto and one recvfrom a request; (sent, answered, processor time of the thread)."""
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
    return result.sent, result.answered, result.cpu_ns * 1e-9


def generator(pair: Pair, io: IoOptions) -> tuple[int, int, float]:
    """The generator's client as fast as it goes; as of `plain`."""
    plan = ClientPlan(
        find_scheme("netclone"), rate_rps=1e6, duration_s=SECONDS, quiet_s=0.1, saturate=True,
        kernel_timestamps=False, io=io,
    )  # fmt: skip
    summary = run_clients(plan, [pair.client.endpoint(5555)], [pair.server.endpoint()])
    return summary.all_sent, summary.answered, summary.cpu_ns * 1e-9


def measure() -> dict[str, Rate]:
    """The best of each client."""
    tries: dict[str, list[Rate]] = {"plain": [], "socket": [], "af_xdp": []}
    with reflecting_pair() as pair:
        probe(pair.client.endpoint(0), [pair.server.endpoint()])
        runs: dict[str, Callable[[], tuple[int, int, float]]] = {
            "plain": lambda: plain(pair),
            "socket": lambda: generator(pair, SOCKET),
            "af_xdp": lambda: generator(pair, IoOptions("af_xdp", IFNAME, endure=True)),
        }
        for _ in range(ROUNDS):
            for name, run in runs.items():
                sent, answered, cpu_s = run()
                tries[name].append(Rate(sent / SECONDS, answered / SECONDS, answered / cpu_s))
    return {
        name: Rate(
            max(r.sent_rps for r in rates),
            max(r.answered_rps for r in rates),
            max(r.cpu_rps for r in rates),
        )
        for name, rates in tries.items()
    }


def records(rates: dict[str, Rate]) -> list[dict[str, object]]:
    """Benchmark records: each back end beside the simplest client."""
    reference = rates["plain"]
    rows: list[dict[str, object]] = []
    for name in ("socket", "af_xdp"):
        for what, unit in (("answered_rps", "requests/s"), ("cpu_rps", "requests/cpu-second")):
            rows.append(
                {
                    "name": f"loadgen_{name}_{what}",
                    "value": round(getattr(rates[name], what)),
                    "unit": unit,
                    "reference_name": "one sendto and one recvfrom a request",
                    "reference_value": round(getattr(reference, what)),
                }
            )
    return rows


def main() -> int:
    rates = measure()
    rows = records(rates)
    for row in rows:
        print(
            f"{row['name']:32} {row['value']:>12,} {row['unit']:20} "
            f"({row['value'] / row['reference_value']:.2f} x {row['reference_name']})"  # type: ignore[operator]
        )
    for name, rate in rates.items():
        print(f"{name:8} sent {rate.sent_rps:>12,.0f}/s answered {rate.answered_rps:>12,.0f}/s")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
