# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames for BPF_PROG_TEST_RUN, and programs to run them through."""

from __future__ import annotations

import functools
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyroute2 import IPRoute
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from netclone_host import counters, topology
from netclone_host.attach import request
from netclone_host.attach.attach import AttachRequest
from netclone_host.attach.loaders.base import LoadedObject
from netclone_host.attach.loaders.libbpf import LibbpfLoader
from netclone_host.attach.roles import Role
from netclone_host.counters import Hook
from netclone_host.kernel import maps
from netclone_host.kernel.testrun import Result, XdpContext, prog_test_run
from netclone_host.kernel.xdp import XdpMode
from netclone_host.wire import HEADER_LEN, Header

from .conftest import TOPOLOGY

CLIENT_IP, CLIENT_IP6 = "10.0.1.1", "fd00:0:0:1::1"
SERVER_IP = ("10.0.1.101", "10.0.1.102")
SERVER_IP6 = ("fd00:0:0:1::101", "fd00:0:0:1::102")
SERVER_MAC = ("02:00:00:00:01:65", "02:00:00:00:01:66")
CLIENT_MAC = "02:00:00:00:00:01"
CLIENT_PORT, PORT = 5000, 1000
SWITCH_PORTS = ("p0", "p1", "p2")


def frame(
    header: Header | bytes,
    *,
    to_server: bool = True,
    server: int = 0,
    ip6: bool = False,
    vlans: tuple[int, ...] = (),
    tcp: bool = False,
    body: bytes = b"the body",
    **udp: Any,
) -> bytes:
    """A frame between the client and a server, with right attempts and checksums."""
    ips = (CLIENT_IP6, SERVER_IP6[server]) if ip6 else (CLIENT_IP, SERVER_IP[server])
    macs, ports = (CLIENT_MAC, SERVER_MAC[server]), (CLIENT_PORT, PORT)
    if not to_server:
        ips, macs, ports = ips[::-1], macs[::-1], ports[::-1]
    packet: Packet = Ether(src=macs[0], dst=macs[1])
    for vlan in vlans:
        packet /= Dot1Q(vlan=vlan)
    packet /= IPv6(src=ips[0], dst=ips[1]) if ip6 else IP(src=ips[0], dst=ips[1])
    packet /= (TCP if tcp else UDP)(sport=ports[0], dport=ports[1], **udp)
    payload = header.encode() + body if isinstance(header, Header) else header
    return bytes(packet / Raw(payload))


def addressed(data: bytes, ifname: str) -> bytes:
    """The frame, to the MAC address of this interface."""
    with IPRoute() as route:
        (link,) = route.get_links(ifname=ifname)
    return bytes.fromhex(link.get_attr("IFLA_ADDRESS").replace(":", "")) + data[6:]


def header_at(data: bytes) -> int:
    """Offset of the NetClone header, wherever the layers end."""
    layer = Ether(data)
    l4 = layer[TCP] if TCP in layer else layer[UDP]
    return len(data) - len(l4.payload.original)


def header_of(data: bytes) -> Header:
    return Header.decode(data[header_at(data) :])


def without_header(data: bytes) -> tuple[bytes, bytes]:
    at = header_at(data)
    return data[:at], data[at + HEADER_LEN :]


def checksums_are_right(data: bytes) -> bool:
    """Whether scapy computes the checksums that stand in the frame."""
    fresh = Ether(data)
    for layer in (IP, UDP, TCP):
        if layer in fresh:
            del fresh[layer].chksum
    return bytes(fresh) == data


class Programs:
    """The loaded programs of a role, and the counters that a run moved."""

    def __init__(
        self, role: Role, loaded: LoadedObject, write: Callable[[], None] = lambda: None
    ) -> None:
        self.role, self.loaded, self._write = role, loaded, write

    def reset(self) -> None:
        """Tables as they are after attach; loading a switch anew takes the verifier longer."""
        for name in (
            "nc_state",
            "nc_fdb",
            "nc_filter",
            "nc_requests",
            "nc_attempts",
            "nc_health",
        ):
            entry = self.loaded.maps[name]
            empty = bytes(entry.value_size)
            entry.update_many(dict.fromkeys(range(entry.max_entries), empty))
        self._write()

    def run(
        self, hook: Hook, data: bytes, repeat: int = 1, port: str = ""
    ) -> tuple[Result, dict[str, int]]:
        """The result, and reason -> packets of the hook. `port`: where the frame comes in."""
        name = f"nc_{self.role}_{'in' if hook is Hook.INGRESS else 'out'}"
        before = self.counts(hook)
        ctx = XdpContext.of(data, socket.if_nametoindex(port)) if port else None
        result = prog_test_run(self.loaded.programs[name], data, repeat, ctx)
        after = self.counts(hook)
        return result, {key: after[key] - n for key, n in before.items() if after[key] != n}

    def counts(self, hook: Hook) -> dict[str, int]:
        per_cpu = self.loaded.maps["nc_counters"].lookup_per_cpu(hook.value)
        sets = [memoryview(values).cast("Q") for values in per_cpu]
        return counters.by_name([sum(column) for column in zip(*sets, strict=True)])

    def put(self, table: str, key: int, value: int) -> None:
        """A number into an entry of a table."""
        entry = self.loaded.maps[table]
        entry.update(key, value.to_bytes(entry.value_size, sys.byteorder))

    def get(self, table: str, key: int) -> int:
        return int.from_bytes(self.loaded.maps[table].lookup(key) or b"", sys.byteorder)


@contextmanager
def programs(role: Role, **more: Any) -> Iterator[Programs]:
    """A role's programs with the tables of the rack of two servers; the switch's ports p0,
    p1 and p2 must be there."""
    rack = topology.loads(TOPOLOGY)
    names = SWITCH_PORTS if role is Role.SWITCH else ("lo",)
    options: dict[str, Any] = {"topology": rack, "server_id": 1, "workers": 1, **more}
    job = request.check_request(AttachRequest(names, role, **options))
    indices = {name: socket.if_nametoindex(name) for name in names}
    with LibbpfLoader().load(role, job.sizes(indices.values())) as loaded:
        write = functools.partial(job.fill, loaded, indices, XdpMode.NATIVE)
        write()
        yield Programs(role, loaded, write)


def map_of(programs_: Programs, name: str) -> maps.Map:
    return programs_.loaded.maps[name]
