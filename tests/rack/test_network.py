# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A rack without programs is an ordinary network."""

from __future__ import annotations

import os

from netclone_host.rack import links
from netclone_host.rack.plan import Plan

from .probe import ping, tcp_transfer, udp_socket


def test_ping_between_any_two_hosts(plain_rack: Plan) -> None:
    # Servers have no entries for each other: this is ARP and neighbour discovery at work.
    for one, other in (("c1", "s1"), ("s1", "c2"), ("s1", "s2"), ("c2", "c1")):
        target = next(node for node in plain_rack.nodes if node.name == other)
        assert target.ip4 and target.ip6
        assert ping(plain_rack.namespace(one), target.ip4)
        assert ping(plain_rack.namespace(one), target.ip6)


def test_tcp(plain_rack: Plan) -> None:
    s1 = plain_rack.servers[0]
    data = os.urandom(500_000)
    for address in (s1.ip4, s1.ip6):
        assert address
        assert tcp_transfer(s1.netns, plain_rack.namespace("c1"), address, data) == data


def test_udp_with_checksum_offload_on_and_off(plain_rack: Plan) -> None:
    c1, s2 = plain_rack.clients[0], plain_rack.servers[1]
    assert c1.ip4 and s2.ip4
    for offload in (False, True):
        links.set_features(c1.netns, "eth0", {"tx-checksum-ip-generic": offload})
        with udp_socket(s2.netns, s2.ip4) as server, udp_socket(c1.netns, c1.ip4) as client:
            client.sendto(b"x" * 1400, server.getsockname())
            assert server.recv(2048) == b"x" * 1400


def test_mtu_and_offloads(plain_rack: Plan) -> None:
    s1 = plain_rack.servers[0]
    for namespace, link in ((s1.netns, "eth0"), (plain_rack.namespace("sw"), "s1")):
        with links.open_in(namespace) as ip:
            found = ip.get_links(ifname=link)[0]
            assert found.get_attr("IFLA_MTU") == 1500
        features = links.features(namespace, link)
        assert features["rx-gro"]
        assert not features["tx-vlan-hw-insert"]
        assert not features["rx-vlan-hw-parse"]
