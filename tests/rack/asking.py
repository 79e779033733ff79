# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One request from a client's socket to the servers of a rack, and all answers to it."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from netclone_host.rack.plan import Node, Plan
from netclone_host.wire import DEFAULT_PORT

from .probe import Address

QUIET_S = 0.15
CHECKSUM_OFFLOAD = "tx-checksum-ip-generic"


def address_of(node: Node, version: int) -> Address:
    address = node.ip4 if version == 4 else node.ip6
    assert address is not None
    return address


def servers_of(plan: Plan, version: int) -> list[tuple[str, Address]]:
    return [(node.netns, address_of(node, version)) for node in plan.servers]


def ask(client: socket.socket, server: Address, payload: bytes) -> list[tuple[bytes, str]]:
    """All answers to one request, with the address that each came from."""
    client.settimeout(5)
    client.sendto(payload, (str(server), DEFAULT_PORT))
    answers = []
    try:
        while True:
            data, source = client.recvfrom(2048)
            answers.append((data, source[0]))
            client.settimeout(QUIET_S)
    except TimeoutError:
        return answers


def first_responses(counted: Mapping[str, int]) -> int:
    """Of cloned requests, at the switch: those of originals and those of clones."""
    return sum(counted.get(f"sw.ingress.response_first_{one}", 0) for one in ("original", "clone"))
