# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two racks joined by a trunk (section 3.7 of the paper): the client's switch claims a request,
the other one forwards what is claimed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from netclone_host import crash_points
from netclone_host.attach.status import attachments
from netclone_host.control.xdp import current_settings, live
from netclone_host.control.xdp.attached import attached_switch
from netclone_host.kernel import netns
from netclone_host.rack import build, status
from netclone_host.rack.counters import Counting, difference
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import Clo, Header

from .asking import address_of, ask, first_responses, servers_of
from .conftest import random_rack_name
from .echo import echo_servers
from .probe import ping, tcp_transfer, udp_socket


@pytest.fixture(scope="module")
def two_racks() -> Iterator[Plan]:
    """c1, s1, s2 behind sw; s3, s4 behind sw2."""
    plan = make_plan(random_rack_name(), default_topology(4, 1, 2), n_racks=2)
    build.up(plan, Options())
    yield plan
    build.down(plan.name)


@pytest.mark.parametrize("version", [4, 6])
def test_each_pair_of_servers_gets_a_request_and_its_clone(two_racks: Plan, version: int) -> None:
    """All 12 groups: both servers here, one here and one there, both behind the trunk."""
    c1 = two_racks.clients[0]
    groups = two_racks.topology.groups()
    counting = Counting(two_racks)
    before = counting.snapshot()
    with (
        echo_servers(servers_of(two_racks, version)),
        udp_socket(c1.netns, address_of(c1, version)) as client,
    ):
        for group, (first, second) in groups.items():
            request = Header(grp=group).encode() + b"across"
            answers = ask(client, address_of(two_racks.servers[0], version), request)
            assert [data[28:] for data, _ in answers] == [b"across"], f"group {group}"
            header = Header.decode(answers[0][0])
            assert header.clo in (Clo.ORIGINAL, Clo.CLONE)
            assert header.sid == (first if header.clo == Clo.ORIGINAL else second)
            assert header.switch_id == 1
    counted = difference(counting.snapshot(), before)
    n = len(groups)
    assert counted["sw.ingress.cloned"] == counted["sw.clone.clone_sent"] == n
    assert first_responses(counted) == n
    assert counted["sw.ingress.filtered_slower_response"] == n
    # Half of all copies go to the other rack: as many requests as responses pass its switch.
    assert counted["sw2.ingress.foreign_switch"] == 2 * n
    assert "sw2.ingress.cloned" not in counted
    admitted = counting.total(counted, "server", "ingress", "request_admitted")
    assert admitted == counting.total(counted, "server", "ingress", "clone_admitted") == n


def test_ordinary_traffic_crosses_the_trunk(two_racks: Plan) -> None:
    c1, s4 = two_racks.clients[0], two_racks.servers[3]
    for version in (4, 6):
        assert ping(c1.netns, address_of(s4, version))
        data = bytes(range(256)) * 100
        assert tcp_transfer(s4.netns, c1.netns, address_of(s4, version), data) == data


def test_status_knows_both_switches(two_racks: Plan) -> None:
    assert status.plan_of(two_racks.name) == two_racks
    described = {node["name"]: node for node in status.describe(two_racks.name)["nodes"]}
    assert described["sw"]["ports"] == ["c1", "s1", "s2", "trunk"]
    assert described["sw2"]["ports"] == ["s3", "s4", "trunk"]
    assert described["s3"]["switch"] == "sw2"
    assert all(node["attached"] and node["mode"] == "native" for node in described.values())


def member_verb(
    plan: Plan, verb: str, crash_at: str = "", words: tuple[str, ...] = ("3",)
) -> subprocess.CompletedProcess[str]:
    """`switch VERB` of server 3, or of another, killed at a step if one is named."""
    program = "from netclone_host.cli import main; main(prog_name='netclone-host')"
    return subprocess.run(
        [sys.executable, "-c", program, "switch", verb, *words, "--rack", plan.name],
        env={**os.environ, crash_points.CRASH_AT: crash_at},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def servers_known(plan: Plan) -> dict[str, int]:
    """How many servers each switch and the client go by."""
    known = {}
    for node in (*plan.switches, *plan.clients):
        with netns.entered(node.netns):
            (attachment,) = attachments()
            known[node.name] = current_settings.look(attachment)[0]["servers"]
    return known


def test_a_member_verb_that_was_killed_between_two_switches_is_repeated(two_racks: Plan) -> None:
    all_four, all_three = {"sw": 4, "sw2": 4, "c1": 4}, {"sw": 3, "sw2": 3, "c1": 3}
    for verb, whole in (("remove-server", all_three), ("add-server", all_four)):
        assert member_verb(two_racks, verb, "deleted-nc_servers").returncode == -signal.SIGKILL
        assert len(set(servers_known(two_racks).values())) == 2
        again = member_verb(two_racks, verb)
        assert again.returncode == 0, again.stderr
        assert servers_known(two_racks) == whole
        assert member_verb(two_racks, verb).returncode == 2


def test_clients_that_were_not_told_of_a_new_server_are_told_by_repeating(two_racks: Plan) -> None:
    assert member_verb(two_racks, "remove-server").returncode == 0
    assert member_verb(two_racks, "add-server", "tell-client").returncode == -signal.SIGKILL
    assert servers_known(two_racks) == {"sw": 4, "sw2": 4, "c1": 3}
    again = member_verb(two_racks, "add-server")
    assert again.returncode == 0 and "1 clients told" in again.stdout, again.stderr
    assert servers_known(two_racks) == {"sw": 4, "sw2": 4, "c1": 4}


NEW_SERVER = ("7", "--ip4", "10.0.1.150", "--mac", "02:00:00:00:01:50")


def ports_of(plan: Plan, sid: int) -> dict[str, str]:
    """Where each switch has a server."""
    found = {}
    for node in plan.switches:
        with netns.entered(node.netns), live.opened(attached_switch(None, "--port")) as switch:
            servers = switch.tables().servers
            found |= {node.name: str(servers[sid].port)} if sid in servers else {}
    return found


def test_a_new_server_behind_one_switch_is_behind_the_trunk_of_the_other(two_racks: Plan) -> None:
    for port, where in {
        "s2": {"sw": "s2", "sw2": "trunk"},
        "s3": {"sw": "trunk", "sw2": "s3"},
    }.items():
        words = (*NEW_SERVER, "--switch-port", port)
        assert member_verb(two_racks, "add-server", "deleted-nc_servers", words).returncode < 0
        elsewhere = (*NEW_SERVER[:4], "02:00:00:00:01:51", "--switch-port", port)
        refused = member_verb(two_racks, "add-server", words=elsewhere)
        assert refused.returncode == 2 and "already has a server 7" in refused.stderr
        added = member_verb(two_racks, "add-server", words=words)
        assert added.returncode == 0, added.stderr
        assert ports_of(two_racks, 7) == where
        assert member_verb(two_racks, "remove-server", words=("7",)).returncode == 0


@pytest.mark.parametrize("port", ["trunk", "s9"])
def test_a_server_that_one_switch_cannot_have_none_has(two_racks: Plan, port: str) -> None:
    refused = member_verb(two_racks, "add-server", words=(*NEW_SERVER, "--switch-port", port))
    assert refused.returncode == 2 and "c1, s1, s2, s3, s4" in refused.stderr
    assert ports_of(two_racks, 7) == {}
    assert servers_known(two_racks) == {"sw": 4, "sw2": 4, "c1": 4}
