# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A port of the switch goes down under traffic, while an agent follows it; it comes up again."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from netclone_host.control.xdp import port_agent
from netclone_host.kernel import netns
from netclone_host.rack import build
from netclone_host.rack.counters import Counting, difference
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import DEFAULT_PORT

from .asking import address_of, servers_of
from .conftest import random_rack_name
from .echo import echo_servers
from .probe import udp_socket

WITHIN_S = 1.0


@pytest.fixture(scope="module")
def rack() -> Iterator[Plan]:
    plan = make_plan(random_rack_name(), default_topology(3, 1, 2))
    build.up(plan, Options())
    yield plan
    build.down(plan.name)


class Agent:
    """`netclone-host agent` in the switch's namespace."""

    def __init__(self, rack: Plan) -> None:
        words = ("nsenter", f"--net={netns.path_of(rack.switches[0].netns)}", sys.executable)
        command = (*words, "-m", "netclone_host.cli", "agent")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.at_start: list[str] = []
        """What it had to say before it waited for changes."""
        while (line := self.said(within_s=30)) != port_agent.LOOKED:
            self.at_start.append(line)

    def said(self, within_s: float = WITHIN_S) -> str:
        """Its next line, which must come in time."""
        assert self._process.stdout
        ready, _, _ = select.select([self._process.stdout], [], [], within_s)
        assert ready, "the agent is silent"
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self._process.stdout.fileno(), 1)
        return line.decode().rstrip()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()


def set_port(rack: Plan, port: str, state: str) -> None:
    namespace = rack.switches[0].netns
    subprocess.run(("ip", "-n", namespace, "link", "set", port, state), check=True)


def lost_of(rack: Plan, client: socket.socket, requests: int) -> int:
    """One request after the other to all servers in turn; those that nobody answered."""
    lost = 0
    client.settimeout(0.2)
    for n in range(requests):
        server = address_of(rack.servers[n % len(rack.servers)], 4)
        body = os.urandom(16)
        client.sendto(bytes(28) + body, (str(server), DEFAULT_PORT))
        try:
            while client.recv(2048)[28:] != body:
                pass
        except TimeoutError:
            lost += 1
    return lost


def asked(counted: dict[str, int], server: str) -> int:
    return sum(n for name, n in counted.items() if name.startswith(f"{server}.ingress.request"))


def test_a_port_goes_down_and_comes_up_under_traffic(rack: Plan) -> None:
    counting, agent = Counting(rack), Agent(rack)
    port = rack.servers[0].port
    with (
        echo_servers(servers_of(rack, 4)),
        udp_socket(rack.clients[0].netns, address_of(rack.clients[0], 4)) as client,
    ):
        assert lost_of(rack, client, 200) == 0
        with ThreadPoolExecutor(1) as meanwhile:
            went_down = meanwhile.submit(set_port, rack, port, "down")
            assert lost_of(rack, client, 5000) <= 2, "those on the wire just then"
            went_down.result()
        assert agent.said() == f"server 0 is out of use: port {port} is down or has no carrier"
        before = counting.snapshot()
        assert lost_of(rack, client, 500) == 0
        counted = dict(difference(counting.snapshot(), before))
        assert asked(counted, "s1") == 0 and counted["sw.ingress.cloned"] > 0
        agent.kill()
        set_port(rack, port, "up")
        agent = Agent(rack)
        assert agent.at_start == [f"server 0 is in use again: port {port} is up"]
        before = counting.snapshot()
        assert lost_of(rack, client, 500) == 0
        counted = dict(difference(counting.snapshot(), before))
        assert asked(counted, "s1") > 50
    agent.kill()
