# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Nanoseconds per packet of each path through the XDP and tc programs.

BPF_PROG_TEST_RUN, behind a harness that puts the packet back before each run
(`xdp/bench.bpf.c`); the reference is an empty program behind the same harness, measured in
turn with it. Every run must have ended in the counter that the path is named after: a
benchmark of the wrong path stops. Writes out/bench/xdp.json.
"""

from __future__ import annotations

import os
import socket
import statistics
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from netclone_host import counters, topology
from netclone_host.attach import request, table_access, tables
from netclone_host.attach.attach import AttachRequest
from netclone_host.attach.loaders.base import LoadedObject
from netclone_host.attach.loaders.libbpf import OBJECT_DIR, load_object
from netclone_host.attach.roles import Role
from netclone_host.counters import Hook
from netclone_host.errors import NetcloneError
from netclone_host.kernel import netns, objects, tiny_programs, xdp
from netclone_host.kernel.maps import Map
from netclone_host.kernel.testrun import TcAction, XdpAction, XdpContext, prog_test_run
from netclone_host.kernel.tiny_programs import ProgramType
from netclone_host.kernel.xdp import XdpMode
from netclone_host.wire import Clo, Header, Type
from tests.bench import results

OUT = Path("out/bench/xdp.json")
ROUNDS = 21
RUNS = 20_000
_FRAME_LEN = 96
_LINK = "ncbench"

_TOPOLOGY = "".join(
    f'[[server]]\nid = {sid}\nip4 = "10.0.1.{101 + sid}"\nip6 = "fd00:0:0:1::{101 + sid}"\n'
    f'mac = "02:00:00:00:01:{101 + sid:02x}"\nport = "{_LINK}{sid}"\n'
    for sid in range(2)
)


def _frame(header: Header, *, to_server: bool, ip6: bool = False, port: int = 1000) -> bytes:
    """A frame between client and server 0, with a full checksum, padded to the harness."""
    hosts = ("fd00:0:0:1::1", "fd00:0:0:1::101") if ip6 else ("10.0.1.1", "10.0.1.101")
    ports = (5000, port)
    if not to_server:
        hosts, ports = hosts[::-1], ports[::-1]
    ip = IPv6(src=hosts[0], dst=hosts[1]) if ip6 else IP(src=hosts[0], dst=hosts[1])
    l2 = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:01:65")
    return bytes(
        l2 / ip / UDP(sport=ports[0], dport=ports[1]) / header.encode() / bytes(_FRAME_LEN)
    )


def request_frame(header: Header) -> bytes:
    return _frame(header, to_server=True)


_REQUEST = Header(grp=1)
_RESPONSE = Header(type=Type.RESP, req_id=1, grp=1)


@dataclass(frozen=True)
class PacketPath:
    """One path: what arrives, where, and the counter that every run must end in."""

    name: str
    role: Role
    hook: Hook
    frame: bytes
    counter: str
    numbered: bool = False
    """Every run carries a REQ_ID of its own, never used before; else the frame's."""
    states: tuple[int, ...] = (0, 0)
    """A switch's states before each round."""
    before: PacketPath | None = None
    after: PacketPath | None = None
    """What goes by before and after each round, with the same REQ_IDs, unmeasured."""


def paths() -> list[PacketPath]:
    ingress, egress = Hook.INGRESS, Hook.EGRESS
    cloned = _RESPONSE.replace(clo=Clo.ORIGINAL)
    first = PacketPath(
        "switch: response, first", Role.SWITCH, ingress,
        _frame(cloned, to_server=False), "response_first_original", numbered=True,
    )  # fmt: skip
    answered = PacketPath(
        "server: response stamped", Role.SERVER, egress,
        _frame(_RESPONSE, to_server=False), "response_stamped", numbered=True,
    )  # fmt: skip
    admitted = PacketPath(
        "server: request passes", Role.SERVER, ingress,
        _frame(_REQUEST, to_server=True), "request_admitted", numbered=True, after=answered,
    )  # fmt: skip
    return [
        admitted,
        PacketPath("server: clone dropped", Role.SERVER, ingress,
              _frame(_REQUEST.replace(req_id=1, clo=Clo.CLONE), to_server=True),
              "dropped_server_busy", before=admitted, after=answered),
        replace(answered, before=admitted),
        PacketPath("client: request stamped", Role.CLIENT, egress,
              _frame(Header(), to_server=True), "request_stamped"),
        PacketPath("client: response delivered", Role.CLIENT, ingress,
              _frame(cloned, to_server=False), "response_delivered", numbered=True),
        PacketPath("switch: request, not cloned", Role.SWITCH, ingress,
              _frame(_REQUEST, to_server=True), "not_cloned", states=(0, 3)),
        PacketPath("switch: request, cloned", Role.SWITCH, ingress,
              _frame(_REQUEST, to_server=True), "cloned"),
        PacketPath("switch: request over IPv6, not cloned", Role.SWITCH, ingress,
              _frame(_REQUEST, to_server=True, ip6=True), "not_cloned", states=(0, 3)),
        PacketPath("switch: request over IPv6, cloned", Role.SWITCH, ingress,
              _frame(_REQUEST, to_server=True, ip6=True), "cloned"),
        first,
        PacketPath("switch: response, slower", Role.SWITCH, ingress,
              _frame(cloned, to_server=False), "filtered_slower_response", numbered=True,
              before=first),
        PacketPath("switch: ordinary packet", Role.SWITCH, ingress,
              _frame(_REQUEST, to_server=True, port=9), "not_netclone"),
        PacketPath("server: ordinary packet", Role.SERVER, ingress,
              _frame(_REQUEST, to_server=True, port=9), "not_netclone"),
        PacketPath("client: ordinary packet", Role.CLIENT, ingress,
              _frame(_REQUEST, to_server=True, port=9), "not_netclone"),
    ]  # fmt: skip


class Bench:
    """The harness, the programs of every role, and an empty one of each type. `builds` names
    other objects to take a role's programs from; `harness`, one that several share."""

    def __init__(
        self,
        stack: ExitStack,
        builds: Mapping[Role, str] | None = None,
        harness: LoadedObject | None = None,
    ) -> None:
        self._harness = harness or load_harness(stack)
        self._empty = {
            Hook.INGRESS: _empty(stack, ProgramType.XDP, XdpAction.PASS),
            Hook.EGRESS: _empty(stack, ProgramType.SCHED_CLS, TcAction.OK),
        }
        self._loaded = {
            role: stack.enter_context(loaded_programs(role, (builds or {}).get(role)))
            for role in Role
        }
        self._names = {Hook.INGRESS: "xdp", Hook.EGRESS: "tc"}
        self._next_id = 1

    def bare_ns(self) -> float:
        """The empty XDP program without the harness."""
        fd = self._empty[Hook.INGRESS]
        return _typical(
            [prog_test_run(fd, bytes(_FRAME_LEN), RUNS).duration_ns for _ in range(ROUNDS)]
        )

    def measure(self, path: PacketPath) -> tuple[float, float]:
        """(ns of the path, ns of the empty program), both behind the harness."""
        own, empty = [], []
        for _ in range(ROUNDS):
            empty.append(self._run(path, self._empty[path.hook]))
            own.append(self.round(path))
        return _typical(own), _typical(empty)

    def round(self, path: PacketPath) -> int:
        """ns of the path in one round of RUNS packets, with what goes by before and after."""
        self._next_id += RUNS
        for sid, length in enumerate(path.states):
            self._loaded[Role.SWITCH].maps["nc_state"].update(sid, length)
        if path.before is not None:
            self._counted(path.before)
        duration_ns = self._counted(path)
        if path.after is not None:
            self._counted(path.after)
        return duration_ns

    def _counted(self, path: PacketPath) -> int:
        """One round of the path itself; stops if a run did not end in its counter."""
        loaded = self._loaded[path.role]
        before = _counter(loaded, path)
        duration_ns = self._run(path, loaded.programs[self._program(path)])
        seen = _counter(loaded, path) - before
        if seen != RUNS:
            raise NetcloneError(
                f"{path.name}: {seen} of {RUNS} runs ended in {path.counter}",
                hint="the benchmark does not measure what it says",
            )
        return duration_ns

    def _program(self, path: PacketPath) -> str:
        direction = "in" if path.hook is Hook.INGRESS else "out"
        return f"nc_{path.role}_{direction}"

    def _run(self, path: PacketPath, program: int) -> int:
        kind = self._names[path.hook]
        self._harness.maps["nc_bench"].update(0, self._packet(path))
        self._harness.maps[f"nc_bench_{kind}_call"].update(0, program)
        harness, here = self._harness.programs[f"nc_bench_{kind}"], None
        if path.role is Role.SWITCH:  # by the port of server 0
            here = XdpContext.of(path.frame, socket.if_nametoindex(f"{_LINK}0"))
        return prog_test_run(harness, path.frame, RUNS, here).duration_ns

    def _packet(self, path: PacketPath) -> bytes:
        """struct nc_bench_packet"""
        id_offset = (62 if path.frame[12:14] == b"\x86\xdd" else 42) + 4
        next_id = self._next_id if path.numbered else 0
        words = (next_id.to_bytes(4, sys.byteorder), id_offset.to_bytes(4, sys.byteorder))
        return b"".join(words) + path.frame[:_FRAME_LEN]


def _typical(values: list[int]) -> float:
    """The lower quartile: a busy machine only ever adds."""
    return statistics.quantiles(values, n=4)[0]


def _counter(loaded: LoadedObject, path: PacketPath) -> int:
    position = counters.names().index(path.counter) * 8
    table: Map = loaded.maps["nc_counters"]
    return sum(
        int.from_bytes(values[position : position + 8], sys.byteorder)
        for values in table.lookup_per_cpu(path.hook.value)
    )


def _empty(stack: ExitStack, kind: ProgramType, verdict: int) -> int:
    # A tail call is only between programs of one attach type; libbpf gives XDP its own.
    attach_type = objects.BPF_XDP if kind is ProgramType.XDP else 0
    fd = tiny_programs.load(kind, "nc_empty", tiny_programs.returning(verdict), attach_type)
    stack.callback(os.close, fd)
    return fd


def load_harness(stack: ExitStack) -> LoadedObject:
    """BPF_PROG_TEST_RUN enters an XDP program into the kernel's dispatcher and takes it out again,
    and waits for all processors both times: not if it is attached somewhere."""
    harness = stack.enter_context(load_object(OBJECT_DIR / "bench.bpf.o"))
    ifindex = socket.if_nametoindex(f"{_LINK}0p")
    link = xdp.attach(harness.programs["nc_bench_xdp"], ifindex, XdpMode.GENERIC)
    stack.callback(os.close, link)
    return harness


def _for_any_host(role: Role, loaded: LoadedObject) -> None:
    """The frames are addressed to no link here: a host's addresses count as not known."""
    kinds = {Role.SERVER: tables.ServerConfig, Role.CLIENT: tables.ClientConfig}
    if role in kinds:
        configs = table_access.table(loaded.maps, kinds[role])
        config = configs[0]
        config.host = tables.Host()
        configs[0] = config


@contextmanager
def loaded_programs(role: Role, build: str | None = None) -> Iterator[LoadedObject]:
    """A role's programs with the tables of a rack of two servers; `build` names another object
    of the same programs, in another directory if it is a path."""
    rack = topology.loads(_TOPOLOGY)
    links = {f"{_LINK}{sid}": socket.if_nametoindex(f"{_LINK}{sid}") for sid in range(2)}
    names = tuple(links) if role is Role.SWITCH else tuple(links)[:1]
    job = request.check_request(
        AttachRequest(
            names, role, server_id=0, workers=1, topology=rack,
            request_timeout_ns=request.MAX_REQUEST_TIMEOUT_NS,
        )
    )  # fmt: skip
    path = OBJECT_DIR / f"{build or role.value}.bpf.o"
    with load_object(path, job.sizes(links.values())) as loaded:
        job.fill(loaded, {name: links[name] for name in names}, XdpMode.NATIVE)
        _for_any_host(role, loaded)
        yield loaded


@contextmanager
def two_links() -> Iterator[None]:
    """Ports for the switch's devmaps, in a namespace that is gone afterwards."""
    from pyroute2 import IPRoute

    with netns.throw_away():
        with IPRoute() as route:
            for sid in range(2):
                route.link(
                    "add", ifname=f"{_LINK}{sid}", kind="veth", peer={"ifname": f"{_LINK}{sid}p"}
                )
        yield


def main() -> None:
    records = []
    with two_links(), ExitStack() as stack:
        bench = Bench(stack)
        bare = bench.bare_ns()
        print(f"{'empty XDP program, without the harness':<38}{bare:>8.1f} ns")
        print(f"{'path':<38}{'ns':>8}{'empty':>8}{'added':>8}")
        for path in paths():
            own, empty = bench.measure(path)
            print(f"{path.name:<38}{own:>8.1f}{empty:>8.1f}{own - empty:>8.1f}")
            records.append(
                results.record(
                    path.name, own, "ns/packet", "empty program behind the same harness", empty
                )
            )
    results.write(OUT, records)


if __name__ == "__main__":
    results.run(main)
