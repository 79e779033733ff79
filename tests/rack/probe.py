# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ordinary traffic between two nodes, by plain sockets opened inside them."""

from __future__ import annotations

import os
import socket
import struct
import time
from ipaddress import IPv4Address, IPv6Address

from netclone_host.kernel import netns

Address = IPv4Address | IPv6Address


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6


def open_socket(namespace: str, family: int, kind: int, protocol: int = 0) -> socket.socket:
    """A socket of the namespace with a timeout that ends a lost packet's wait."""
    with netns.entered(namespace):
        opened = socket.socket(family, kind, protocol)
    opened.settimeout(5)
    return opened


def udp_socket(namespace: str, address: Address, port: int = 0) -> socket.socket:
    """A UDP socket of the namespace, bound to its address."""
    opened = open_socket(namespace, _family(address), socket.SOCK_DGRAM)
    opened.bind((str(address), port))
    return opened


def ping(namespace: str, address: Address) -> bool:
    """One ICMP echo; True if its reply came within five seconds."""
    is4 = address.version == 4
    protocol = socket.IPPROTO_ICMP if is4 else socket.IPPROTO_ICMPV6
    identifier = os.getpid() & 0xFFFF
    payload = os.urandom(16)
    echo = struct.pack("!BBHHH", 8 if is4 else 128, 0, 0, identifier, 1) + payload
    if is4:  # of ICMPv6 the kernel computes the checksum
        total = sum(struct.unpack(f"!{len(echo) // 2}H", echo))
        total = (total & 0xFFFF) + (total >> 16)
        total += total >> 16
        echo = echo[:2] + struct.pack("!H", ~total & 0xFFFF) + echo[4:]
    with open_socket(namespace, _family(address), socket.SOCK_RAW, protocol) as raw:
        raw.sendto(echo, (str(address), 0))
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                reply = raw.recv(2048)
            except TimeoutError:
                return False
            if reply.endswith(payload) and reply[20 if is4 else 0] == (0 if is4 else 129):
                return True
    return False


def tcp_transfer(server_ns: str, client_ns: str, address: Address, data: bytes) -> bytes:
    """Send `data` over a connection; what the server received."""
    with open_socket(server_ns, _family(address), socket.SOCK_STREAM) as listener:
        listener.bind((str(address), 0))
        listener.listen()
        with open_socket(client_ns, _family(address), socket.SOCK_STREAM) as client:
            client.connect((str(address), listener.getsockname()[1]))
            server, _ = listener.accept()
            with server:
                server.settimeout(5)
                received = bytearray()
                # Interleaved, so that one thread is enough whatever the socket buffers hold.
                for start in range(0, len(data), 16384):
                    client.sendall(data[start : start + 16384])
                    while len(received) < min(start + 16384, len(data)):
                        received += server.recv(65536)
                return bytes(received)
