# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ports on loopback that no other test uses at the same time."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from loadgen.traffic.endpoints import Endpoint


@pytest.fixture
def loopback() -> Callable[[int], list[Endpoint]]:
    """A function: so many free UDP endpoints of 127.0.0.1."""

    def endpoints(n: int) -> list[Endpoint]:
        held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(n)]
        try:
            for sock in held:
                sock.bind(("127.0.0.1", 0))
            return [Endpoint("127.0.0.1", sock.getsockname()[1]) for sock in held]
        finally:
            for sock in held:
                sock.close()

    return endpoints
