# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The layout of a rack, as data."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest

from netclone_host import topology as topology_file
from netclone_host.errors import UserError
from netclone_host.rack.plan import TRUNK, default_topology, make_plan


def test_the_default_rack() -> None:
    plan = make_plan("netclone", default_topology())
    assert [node.name for node in plan.members] == [
        *("c1", "c2"),
        *("s1", "s2", "s3", "s4", "s5", "s6"),
        "sw",
    ]
    assert plan.namespace("s3") == "netclone-s3"
    s3 = plan.servers[2]
    assert (s3.server_id, s3.workers, s3.port) == (2, 15, "s3")
    assert (s3.ip4, s3.ip6) == (IPv4Address("10.0.1.103"), IPv6Address("fd00:1::103"))
    assert plan.clients[0].ip4 == IPv4Address("10.0.1.1")
    assert (plan.prefix4, plan.prefix6) == (24, 64)
    assert plan.switches[0].topology == plan.topology


@pytest.mark.parametrize("n", [2, 33, 154, 155, 256])
def test_any_number_of_servers_is_in_one_subnet(n: int) -> None:
    topology = default_topology(n, 2)
    plan = make_plan("netclone", topology)
    assert len({node.mac for node in plan.nodes}) == n + 2
    assert len({node.ip4 for node in plan.nodes}) == n + 2
    assert plan.prefix4 == 24 if n <= 154 else plan.prefix4 == 22
    assert topology_file.loads(topology_file.dumps(topology)) == topology


def test_two_racks_see_each_others_servers_behind_the_trunk() -> None:
    plan = make_plan("netclone", default_topology(4, 2), n_racks=2)
    first, second = plan.switches
    assert [server.port for server in first.topology.servers] == ["s1", "s2", TRUNK, TRUNK]
    assert [server.port for server in second.topology.servers] == [TRUNK, TRUNK, "s3", "s4"]
    assert [client.port for client in second.topology.clients] == [TRUNK, TRUNK]
    assert (first.topology.switch.id, second.topology.switch.id) == (1, 2)
    assert first.ports(plan) == ["c1", "c2", "s1", "s2", TRUNK]
    assert second.ports(plan) == ["s3", "s4", TRUNK]


def test_numbered_ports_become_links() -> None:
    text = topology_file.dumps(default_topology(2, 1)).replace('port = "s2"', "port = 7")
    plan = make_plan("netclone", topology_file.loads(text))
    assert plan.servers[1].port == plan.switches[0].topology.servers[1].port == "port7"


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        (('port = "s2"', 'port = "s1"'), "switch port s1 of s2 is taken"),
        (('port = "s2"', 'port = "br0"'), "switch port br0 of s2 is taken"),
        (('name = "c1"', 'name = "s1"'), "the name s1 is used twice"),
        (('name = "c1"', 'name = "sw"'), "the name sw is used twice"),
        (('ip4 = "10.0.1.102"', 'ip4 = "192.168.1.1"'), "not in one subnet"),
    ],
)
def test_topologies_that_a_software_rack_cannot_be(
    replacement: tuple[str, str], message: str
) -> None:
    text = topology_file.dumps(default_topology(2, 1)).replace(*replacement)
    with pytest.raises(UserError, match=message):
        make_plan("netclone", topology_file.loads(text))


def test_sizes_and_names_are_checked() -> None:
    with pytest.raises(UserError, match="cannot have 1 servers"):
        default_topology(1, 1)
    with pytest.raises(UserError, match="cannot have 257 servers"):
        default_topology(257, 1)
    with pytest.raises(UserError, match="cannot have 0 clients"):
        default_topology(2, 0)
    with pytest.raises(UserError, match="3 numbers of workers were given for 2 servers"):
        default_topology(2, 1, (1, 2, 3))
    for name in ("", "a/b", "-x", "x" * 33):
        with pytest.raises(UserError, match="cannot be the name of a rack"):
            make_plan(name, default_topology(2, 1))
