# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A rack with the P4 switch in the middle: ordinary traffic, cloned requests, clean-up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from loadgen.rack.run import run_rack
from loadgen.rack.run_options import parse_run_options
from loadgen.rack.scheme_setup import switch_as
from loadgen.workload.schemes import find_scheme
from netclone_host.control.p4.bmv2_cli import RuntimeCli, parse_counter
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.rack import bmv2, build, programs
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import DEFAULT_PORT, HEADER_LEN, Clo, Header
from tests.rack.asking import first_responses

from .conftest import random_rack_name
from .echo import echo_servers
from .probe import ping, udp_socket

PROGRAMS = ("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")
RESERVE = find_scheme("netclone+reserve")


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


def test_run_measures_the_p4_switch(rack: Plan) -> None:
    """A rate that simple_switch can do on a busy machine: 60 requests a second."""
    asked = parse_run_options(
        schemes="baseline,netclone,netclone+racksched",
        service="exp:25us",
        jitter="0x1",
        loads="0.1",
        duration="2s",
        warmup="0.2s",
        time_scale=2000.0,
        seed=1,
        repeats=1,
    )
    before = settings(rack)
    baseline, *netclones = run_rack(rack.name, None, Options(), asked, None)
    assert settings(rack) == before
    assert "sw.ingress.cloned" not in baseline.counters
    for record in (baseline, *netclones):
        assert record.xdp_mode == "native+bmv2"
        # It drops frames when the machine leaves it too little time; then fewer are answered.
        assert record.sent == record.answered + record.unanswered > 50
        assert record.answered >= 0.8 * record.sent
        assert record.redundant == 0
    for record in netclones:
        counted = record.counters
        cloned = counted["sw.ingress.cloned"]
        assert counted["sw.clone.clone_sent"] == cloned > 0.5 * record.sent
        first = first_responses(counted)
        dropped = sum(counted.get(f"s{i}.ingress.dropped_server_busy", 0) for i in (1, 2))
        filtered = counted.get("sw.ingress.filtered_slower_response", 0)
        assert 0.8 * cloned <= first <= cloned
        assert filtered <= cloned - dropped
        if not record.unanswered:
            assert first == cloned


def test_rules_that_the_program_lacks_are_refused(rack: Plan) -> None:
    with pytest.raises(UserError, match="reserve rule"), switch_as(rack, RESERVE):
        pass
    assert Journal(rack.name).has_bmv2


def settings(rack: Plan) -> str:
    with netns.entered(rack.switches[0].netns), RuntimeCli() as cli:
        return cli.run(["table_dump SwitchIngress.settings"])[0]


def test_switch_that_has_ended_is_named(rack: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bmv2, "processes", lambda *_: [])
    with pytest.raises(UserError, match=f"simple_switch of the rack '{rack.name}' has ended"):
        programs.require_attached(rack)


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
