# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Servers go out of use with their port and come back, whoever looks next; other changes of the
switch go on meanwhile."""

from __future__ import annotations

import json
import os
import signal
import time

from netclone_host.attach import status
from netclone_host.attach.table_access import pinned_table
from netclone_host.attach.tables import Server
from netclone_host.control.xdp import port_agent
from netclone_host.topology import Topology

from .commands import done, netclone_host
from .conftest import run
from .running_switch import PORTS, bring


def usable() -> dict[int, bool]:
    with pinned_table(status.attached_to("p0"), Server) as rows:
        return {sid: bool(rows[sid].ifindex) for sid in range(3)}


def shown_ports() -> list[str]:
    record = json.loads(done("switch", "show", "--json").stdout)
    return [server["port"] for server in record["servers"]]


ALL = {0: True, 1: True, 2: True}
WITHOUT_1 = ALL | {1: False}


def test_nothing_is_done_where_all_ports_are_up(rack: Topology) -> None:
    assert port_agent.settle([]) == [] and usable() == ALL


def test_down_and_up(rack: Topology) -> None:
    run("ip", "link", "set", "p1", "down")
    down = "server 1 is out of use: port p1 is down or has no carrier"
    assert port_agent.settle([]) == [down] and usable() == WITHOUT_1
    assert port_agent.settle([]) == []
    assert "out of use: servers 1" in done("status").stdout.replace("\n", " ")
    run("ip", "link", "set", "p1", "up")
    assert port_agent.settle(["p2"]) == ["server 1 is in use again: port p1 is up"]
    assert usable() == ALL
    assert "out of use" not in done("status").stdout


def test_lost_carrier(rack: Topology) -> None:
    run("ip", "link", "set", "p1-wire", "down")
    port_agent.settle([])
    assert usable() == WITHOUT_1
    run("ip", "link", "set", "p1-wire", "up")
    port_agent.settle([])
    assert usable() == ALL


def test_changes_of_the_switch_meanwhile(rack: Topology) -> None:
    run("ip", "link", "set", "p1", "down")
    port_agent.settle([])
    assert shown_ports() == ["p0", "p1", "p2"]
    assert bring(rack) == 0
    done("switch", "set", "--racksched")
    done("switch", "remove-server", "2")
    assert shown_ports() == ["p0", "p1"] and not usable()[1]
    done("switch", "add-server", "2", "--ip4", "10.0.1.103", "--mac", "02:00:00:00:01:67",
         "--switch-port", "p2")  # fmt: skip
    assert usable() == WITHOUT_1
    run("ip", "link", "set", "p1", "up")
    port_agent.settle([])
    assert usable() == ALL


def test_a_link_that_was_deleted(rack: Topology) -> None:
    run("ip", "link", "del", "p1")
    assert port_agent.settle([]) == ["server 1 is out of use: its port is gone"]
    assert usable() == WITHOUT_1 and port_agent.settle([]) == []
    assert shown_ports()[1].startswith("a port that is gone")
    done("switch", "remove-server", "1")


def test_an_agent_follows_until_it_is_killed(rack: Topology) -> None:
    child = os.fork()
    if child == 0:
        for _ in port_agent.follow(PORTS):
            pass
        os._exit(0)
    try:
        for state, wanted in (("down", WITHOUT_1), ("up", ALL), ("down", WITHOUT_1)):
            run("ip", "link", "set", "p1", state)
            deadline = time.monotonic() + 1
            while usable() != wanted:
                assert time.monotonic() < deadline
                time.sleep(0.001)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_an_interface_without_a_switch_is_refused(rack: Topology) -> None:
    refused = netclone_host("agent", "lo")
    assert refused.exit_code == 2 and "not attached to lo" in refused.output
