# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Real TCP at a server: its socket buffers keep the payload beside the headers."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from typing import cast

import pytest

from netclone_host.attach.roles import Role
from netclone_host.kernel import netns
from netclone_host.kernel.xdp import XdpMode
from netclone_host.rack.links import open_in
from netclone_host.wire import HEADER_LEN, Flag, Header, Type
from tests.conformance.runners.xdp import Xdp
from tests.conformance.writing import Book

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: XDP, namespaces")

SID = 7


@pytest.fixture
def server() -> Iterator[Xdp]:
    target = Xdp(Role.SERVER, "libbpf", XdpMode.NATIVE)
    ends = ((target.cabling.node, "p1", "10.0.9.1"), (target.cabling.far, "f1", "10.0.9.2"))
    for namespace, link, address in ends:
        with open_in(namespace) as ip:
            index = ip.link_lookup(ifname=link)[0]
            ip.addr("add", index=index, address=address, prefixlen=24)
    target.start(Book().server("tcp", "stamped", sid=SID))
    yield target
    target.close()


def received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data


@pytest.mark.parametrize("payload", [0, 1, 100, 1000])
def test_response_is_stamped(server: Xdp, payload: int) -> None:
    """Whatever its length, SID is written and the checksum lets it through."""
    with netns.entered(server.cabling.node):
        listener = socket.create_server(("10.0.9.1", 1000))
    with netns.entered(server.cabling.far):
        client = socket.socket()
    ask = Header(type=Type.REQ, flags=Flag.CLIENT_ID_VALID, client_id=3, req_id=9, grp=1)

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            header = Header.decode(received(connection, HEADER_LEN))
            connection.sendall(header.replace(type=Type.RESP).encode() + b"x" * payload)

    with listener, client:
        listener.settimeout(10)
        client.settimeout(10)
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        client.connect(("10.0.9.1", 1000))
        client.sendall(ask.encode())
        data = received(client, HEADER_LEN + payload)
        thread.join()
    assert Header.decode(data) == cast(Header, ask.replace(type=Type.RESP, sid=SID))
    assert data[HEADER_LEN:] == b"x" * payload
