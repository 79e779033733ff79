# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many frames in one poll: what leaves by a port is then sent in bulk, originals, copies and
responses mixed. The scenarios of the corpus arrive one by one and cannot show this."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from netclone_host.attach.roles import Role
from netclone_host.kernel.xdp import XdpMode
from netclone_host.model import parse
from tests.conformance.frames import request, response, server
from tests.conformance.runners.xdp import Xdp
from tests.conformance.writing import Book, address

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: XDP, namespaces")

ROUNDS = 40
S0, S1 = (server(sid).mac[-2:] for sid in range(2))
Kind = tuple[int, str, int, int]  # port, destination's last MAC byte, CLO, SID


@pytest.fixture(scope="module")
def switch() -> Iterator[Xdp]:
    target = Xdp(Role.SWITCH, "libbpf", XdpMode.NATIVE, filter_tables=2)
    polled_by_a_thread(target)
    yield target
    target.close()


def polled_by_a_thread(target: Xdp) -> None:
    """Frames wait for a kernel thread that takes many at a time."""
    script = "for port in /sys/class/net/p*; do echo 1 > $port/threaded; done"
    namespace = target.cabling.node
    subprocess.run(["ip", "netns", "exec", namespace, "sh", "-c", script], check=True)


def sent_at_once(switch: Xdp, frames: list[tuple[int, bytes]], leave: int) -> Counter[Kind]:
    for port, frame in frames:
        switch.cabling.arrive(port, frame)
    deadline, seen = time.monotonic() + 10, []
    while len(seen) < leave and time.monotonic() < deadline:
        seen += switch.cabling.collect(0)
    seen += switch.cabling.collect(0)
    kinds: Counter[Kind] = Counter()
    for port, frame in seen:
        packet = parse(frame, (1000,), 65280, 16)
        kinds[port, f"{frame[5]:02x}", packet.clo, packet.sid] += 1
    return kinds


def test_originals_and_copies_by_the_same_port(switch: Xdp) -> None:
    """Groups 1 and 2: what is the first server of one is the second of the other."""
    switch.start(Book().switch("burst", "both ways"))
    asks = [request(grp=1).bytes(), request(grp=2).bytes()]
    kinds: Counter[Kind] = Counter()
    for _ in range(ROUNDS):
        kinds += sent_at_once(switch, [(7, asks[n % 2]) for n in range(16)], leave=32)
    each = 8 * ROUNDS
    assert kinds == {
        (1, S0, 1, 1): each,
        (2, S1, 2, 1): each,
        (2, S1, 1, 0): each,
        (1, S0, 2, 0): each,
    }


def test_both_servers_behind_one_port(switch: Xdp) -> None:
    scenario = Book().switch("burst", "one port")
    scenario.before["servers"] = {str(s): address(server(s), port=5) for s in range(3)}
    switch.start(scenario)
    kinds: Counter[Kind] = Counter()
    for _ in range(ROUNDS):
        kinds += sent_at_once(switch, [(7, request(grp=1).bytes())] * 16, leave=32)
    each = 16 * ROUNDS
    assert kinds == {(5, S0, 1, 1): each, (5, S1, 2, 1): each}


def test_responses_among_copies(switch: Xdp) -> None:
    """A response to a server (that is a client of another) leaves by the port of copies."""
    switch.start(Book().switch("burst", "responses"))
    ask = request(grp=1).bytes()
    answer = response(2, to=server(1), req_id=9).bytes()
    kinds: Counter[Kind] = Counter()
    for _ in range(ROUNDS):
        both = [(7, ask), (3, answer)] * 8
        kinds += sent_at_once(switch, both, leave=24)
    each = 8 * ROUNDS
    assert kinds == {(1, S0, 1, 1): each, (2, S1, 2, 1): each, (2, S1, 0, 2): each}
