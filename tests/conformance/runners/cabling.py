# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two namespaces and the cables between them: the node's ports, and raw sockets at the far
ends. What a node sends is seen by the far end's socket; what it hands to its own stack, by
a socket on its port.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import struct
import time
from pathlib import Path

from pyroute2 import netns as named_namespaces

from netclone_host.kernel import netns
from netclone_host.rack.links import open_in, set_features

LINUX = 0
DEADLINE_S = 5.0
SETTLE_S = 0.0005

_ETH_P_ALL = 3
_SOL_PACKET = 263
_PACKET_AUXDATA = 8
_PACKET_VNET_HDR = 15
_PACKET_IGNORE_OUTGOING = 23
_AUXDATA = struct.Struct("IIIHHHH")
_VLAN_VALID = 1 << 4
_VNET_HEADER = struct.Struct("BBHHHH")
_NEEDS_CSUM = 1
_OFFLOADS = {
    "tx-vlan-hw-insert": False,
    "rx-vlan-hw-parse": False,
    "tx-vlan-stag-hw-insert": False,
    "rx-vlan-stag-hw-parse": False,
    # A veth end receives redirected frames only while its own side runs NAPI.
    "rx-gro": True,
}


class Cabling:
    """Ports 1 .. n, each a veth pair p<N> (node) - f<N> (far end)."""

    def __init__(self, ports: int) -> None:
        _remove_orphans()
        unique = f"ncc{os.getpid()}-{secrets.token_hex(2)}"
        self.node, self.far = f"{unique}-n", f"{unique}-f"
        self._sockets: list[socket.socket] = []
        try:
            for name in (self.node, self.far):
                named_namespaces.create(name)
                _silence(name)
            self.ifindex = {port: self._connect(port) for port in range(1, ports + 1)}
            self.number = {ifindex: port for port, ifindex in self.ifindex.items()}
            self._far = {port: self._open(self.far, f"f{port}") for port in self.ifindex}
            self._near = {port: self._open(self.node, f"p{port}") for port in self.ifindex}
            self._poll = select.epoll()
            self._by_fd = {}
            for sockets, is_far in ((self._far, True), (self._near, False)):
                for port, end in sockets.items():
                    self._by_fd[end.fileno()] = (end, port if is_far else LINUX)
                    self._poll.register(end, select.EPOLLIN)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Namespaces go, and the links with them."""
        for end in self._sockets:
            end.close()
        for name in (self.node, self.far):
            if Path("/run/netns", name).exists():
                named_namespaces.remove(name)

    def _connect(self, port: int) -> int:
        near, far = f"p{port}", f"f{port}"
        with open_in(self.node) as ip, Path("/run/netns", self.far).open() as there:
            peer = {"ifname": far, "net_ns_fd": there.fileno()}
            ip.link("add", ifname=near, kind="veth", peer=peer)
        ends = ((self.far, far), (self.node, near))
        # An end learns when it comes up whether its peer takes redirected frames.
        for name, link in ends:
            set_features(name, link, _OFFLOADS)
        for name, link in ends:
            with open_in(name) as ip:
                index = int(ip.link_lookup(ifname=link)[0])
                ip.link("set", index=index, state="up")
        return index

    def _open(self, namespace: str, link: str) -> socket.socket:
        with netns.entered(namespace):
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
            self._sockets.append(end)
            end.bind((link, _ETH_P_ALL))
        end.setblocking(False)
        end.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        end.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        return end

    # ---- frames ----

    def arrive(self, port: int, frame: bytes) -> None:
        """The frame comes in by a port of the node."""
        self._far[port].send(frame)

    def leave(self, port: int, frame: bytes, partial: tuple[int, int] | None) -> None:
        """The node's stack sends the frame out of a port. partial: its L4 checksum is only
        a partial sum (where L4 starts, where in it the checksum stands)."""
        if partial is None:
            self._near[port].send(frame)
            return
        start, offset = partial
        with netns.entered(self.node):
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            end.bind((f"p{port}", 0))
        with end:
            end.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
            end.send(_VNET_HEADER.pack(_NEEDS_CSUM, 0, 0, 0, start, offset) + frame)

    def collect(self, count: int) -> list[tuple[int, bytes]]:
        """The frames that came out, by (port, bytes): waits for `count`, and takes along
        whatever else is there."""
        frames: list[tuple[int, bytes]] = []
        deadline = time.monotonic() + DEADLINE_S
        while len(frames) < count and time.monotonic() < deadline:
            frames += self._ready(0.05)
        return frames + self._ready(0 if count else SETTLE_S)

    def _ready(self, timeout_s: float) -> list[tuple[int, bytes]]:
        frames = []
        for fd, _ in self._poll.poll(timeout_s):
            end, port = self._by_fd[fd]
            while True:
                try:
                    frames.append((port, _receive(end)))
                except BlockingIOError:
                    break
        return frames


def _remove_orphans() -> None:
    """Namespaces of a run of these tests that was killed."""
    for path in Path("/run/netns").glob("ncc*-*-[nf]"):
        pid = path.name[3:].partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                named_namespaces.remove(path.name)


def _silence(namespace: str) -> None:
    """No neighbour discovery, no router solicitation: only frames of the test."""
    with netns.entered(namespace):
        for scope in ("default", "all"):
            path = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
            if path.exists():  # a kernel without IPv6 has none
                path.write_text("1\n")


def _receive(end: socket.socket) -> bytes:
    """A frame as it was on the wire: the kernel takes the outer VLAN tag out before packet
    sockets see it, and says so beside."""
    frame, ancillary, _, _ = end.recvmsg(16384, 64)
    for level, kind, data in ancillary:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            status, _, _, _, _, tci, tpid = _AUXDATA.unpack_from(data)
            if status & _VLAN_VALID:
                return frame[:12] + struct.pack("!HH", tpid or 0x8100, tci) + frame[12:]
    return frame
