# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A rack with the P4 switch in the middle: ordinary traffic, cloned requests, clean-up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from netclone_host.control.bmv2_cli import RuntimeCli, parse_counter
from netclone_host.errors import UserError
from netclone_host.rack import bmv2, build, netns
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import DEFAULT_PORT, HEADER_LEN, Clo, Header

from .conftest import random_rack_name
from .echo import echo_servers
from .probe import ping, udp_socket

PROGRAMS = ("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")


@pytest.fixture(scope="module")
def rack() -> Iterator[Plan]:
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        reason = f"{', '.join(missing)} not on the PATH"
        if os.environ.get("NETCLONE_REQUIRE_P4") == "1":
            pytest.fail(f"NETCLONE_REQUIRE_P4=1, but {reason}")
        pytest.skip(reason)
    plan = make_plan(random_rack_name(), default_topology(2, 1))
    build.up(plan, Options(bmv2=True))
    yield plan
    build.down(plan.name)


def counter(plan: Plan, reason: int) -> int:
    with netns.entered(plan.switches[0].netns), RuntimeCli() as cli:
        text = cli.run([f"counter_read SwitchIngress.reasons {reason}"])[0]
    return parse_counter(text)


def test_ordinary_traffic_passes(rack: Plan) -> None:
    client, server = rack.clients[0], rack.servers[0]
    assert server.ip4 is not None and server.ip6 is not None
    assert ping(client.netns, server.ip4)
    assert ping(client.netns, server.ip6)


def test_requests_are_cloned_and_answered_once(rack: Plan) -> None:
    """The client and the servers speak UDP only; their programs do the rest."""
    client = rack.clients[0]
    assert client.ip4 is not None
    servers = [(node.netns, node.ip4) for node in rack.servers if node.ip4 is not None]
    cloned_before = counter(rack, 13)
    with echo_servers(servers), udp_socket(client.netns, client.ip4) as caller:
        for number in range(20):
            payload = Header().encode() + b"%04d" % number
            caller.sendto(payload, (str(servers[0][1]), DEFAULT_PORT))
            answer = caller.recv(2048)
            assert answer[HEADER_LEN:] == b"%04d" % number
            header = Header.decode(answer)
            assert header.req_id > 0 and header.clo in list(Clo)
        caller.settimeout(0.3)
        with pytest.raises(TimeoutError):
            caller.recv(2048)
    assert counter(rack, 13) - cloned_before > 10


def test_down_ends_the_switch() -> None:
    if any(shutil.which(program) is None for program in PROGRAMS):
        pytest.skip("simple_switch not on the PATH")
    plan = make_plan(random_rack_name(), default_topology(2, 1))
    build.up(plan, Options(bmv2=True))
    switch = plan.switches[0].netns
    assert netns.processes_inside(switch)
    build.down(plan.name)
    assert not netns.is_namespace(switch)


def test_missing_switch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    plan = make_plan(random_rack_name(), default_topology(2, 1))
    with pytest.raises(UserError, match="simple_switch is not on the PATH"):
        bmv2.check(plan)


def test_two_racks_are_refused() -> None:
    plan = make_plan(random_rack_name(), default_topology(2, 1), 2)
    with pytest.raises(UserError, match="XDP switches"):
        bmv2.check(plan)


def test_links_become_port_numbers() -> None:
    plan = make_plan(random_rack_name(), default_topology(3, 2))
    topology = bmv2.numbered(plan)
    ports = [host.port for host in (*topology.servers, *topology.clients)]
    assert sorted(ports) == [1, 2, 3, 4, 5]
