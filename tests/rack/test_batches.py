# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many packets in one poll of a port. The kernel hands redirected frames on in bulk, and runs
one devmap program over a whole bulk: that of the frame that came first. Originals, clones
and plain packets to one port share a bulk and must each come out right."""

from __future__ import annotations

import random
import socket
from collections import Counter
from collections.abc import Iterator

import pytest

from netclone_host.rack import build
from netclone_host.rack.counters import Counting, difference
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import DEFAULT_PORT, Flag, Header

from .asking import address_of, servers_of
from .commands import in_node
from .conftest import random_rack_name
from .echo import echo_servers
from .probe import udp_socket

BURST = 120
ROUNDS = 6


@pytest.fixture(scope="module", params=[1, 2], ids=["port_each", "trunk"])
def polled_rack(request: pytest.FixtureRequest) -> Iterator[Plan]:
    """Four servers, each with a port of its own, or half of them behind the trunk. The switch's
    ports are polled by kernel threads, so that a burst piles up before it is looked at."""
    plan = make_plan(random_rack_name(), default_topology(4, 1, 1000), n_racks=request.param)
    build.up(plan, Options())
    for switch in plan.switches:
        for port in switch.ports(plan):
            poll_by_thread = f"echo 1 > /sys/class/net/{port}/threaded"
            done = in_node(plan, switch.name, "sh", "-c", poll_by_thread)
            assert done.returncode == 0, done.stderr
    yield plan
    build.down(plan.name)


def test_a_mixed_burst_reaches_exactly_whom_it_should(polled_rack: Plan) -> None:
    plan = polled_rack
    c1 = plan.clients[0]
    rng = random.Random(7)
    counting = Counting(plan)
    groups = plan.topology.groups()
    expected: Counter[str] = Counter()
    before = counting.snapshot()
    asked: set[bytes] = set()
    answered: Counter[bytes] = Counter()
    with (
        echo_servers(servers_of(plan, 4)),
        udp_socket(c1.netns, address_of(c1, 4)) as client,
    ):
        for n in range(ROUNDS * BURST):
            body = n.to_bytes(4, "big")
            asked.add(body)
            if rng.random() < 0.3:
                node = rng.choice(plan.servers)
                header = Header(flags=Flag.NO_CLONE, grp=1)
                expected[f"{node.name}.ingress.request_admitted"] += 1
            else:
                node = plan.servers[0]
                header = Header(grp=rng.choice(list(groups)))
                first, second = groups[header.grp]
                expected[f"s{first + 1}.ingress.request_admitted"] += 1
                expected[f"s{second + 1}.ingress.clone_admitted"] += 1
            client.sendto(header.encode() + body, (str(node.ip4), DEFAULT_PORT))
            if n % BURST == BURST - 1:
                answered.update(answers(client))
    counted = difference(counting.snapshot(), before)
    admitted = {
        name: value for name, value in counted.items() if name.endswith(("_admitted", "_busy"))
    }
    assert admitted == dict(expected)
    assert set(answered) == asked, "nothing is lost"
    assert set(answered.values()) == {1}, "each is answered once"
    clones = counting.total(expected, "server", "ingress", "clone_admitted")
    assert counted["sw.clone.clone_sent"] == counted["sw.ingress.cloned"] == clones
    assert "sw.clone.clone_lost" not in counted


def answers(client: socket.socket) -> Iterator[bytes]:
    """What is behind the header of every packet that comes until a silence."""
    client.settimeout(0.3)
    try:
        while True:
            yield client.recv(2048)[28:]
    except TimeoutError:
        return
