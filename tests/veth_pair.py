# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two namespaces joined by a veth pair, for benchmarks and tests of the generator alone."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2 import netns as namespaces

from loadgen.traffic.endpoints import DEFAULT_PORT, Endpoint
from netclone_host.kernel import netns

IFNAME = "eth0"
PREFIX = 24


@dataclass(frozen=True)
class Node:
    """One end of the pair: a namespace whose `eth0` has the address `ip`."""

    netns: Path
    ip: str

    def endpoint(self, port: int = DEFAULT_PORT) -> Endpoint:
        """A UDP address of this node."""
        return Endpoint(self.ip, port, self.netns)


@dataclass(frozen=True)
class Pair:
    """A client's and a server's node."""

    client: Node
    server: Node


@contextlib.contextmanager
def veth_pair(queues: int = 1) -> Iterator[Pair]:
    """The pair, removed at the end; each end has so many queues. Needs root."""
    tag = f"{os.getpid()}-{uuid.uuid4().hex[:6]}"
    pair = Pair(
        Node(netns.NAMED / f"lab-{tag}-c", "10.9.0.1"),
        Node(netns.NAMED / f"lab-{tag}-s", "10.9.0.2"),
    )
    with contextlib.ExitStack() as undo:
        for node in (pair.client, pair.server):
            namespaces.create(node.netns.name)
            undo.callback(namespaces.remove, node.netns.name)
        with netns.entered(pair.client.netns), IPRoute() as ip:
            ip.link(
                "add",
                ifname=IFNAME,
                kind="veth",
                num_tx_queues=queues,
                num_rx_queues=queues,
                peer={
                    "ifname": IFNAME,
                    "net_ns_fd": pair.server.netns.name,
                    "num_tx_queues": queues,
                    "num_rx_queues": queues,
                },
            )
        for node in (pair.client, pair.server):
            _bring_up(node)
        yield pair


def _bring_up(node: Node) -> None:
    with netns.entered(node.netns), IPRoute() as ip:
        index = ip.link_lookup(ifname=IFNAME)[0]
        ip.addr("add", index=index, address=node.ip, prefixlen=PREFIX)
        ip.link("set", index=index, state="up")


def set_link(node: Node, *, up: bool) -> None:
    """Brings the node's interface up or down."""
    with netns.entered(node.netns), IPRoute() as ip:
        ip.link("set", index=ip.link_lookup(ifname=IFNAME)[0], state="up" if up else "down")
