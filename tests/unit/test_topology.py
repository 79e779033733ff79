# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The topology file: what it holds, what it refuses, and how groups are numbered."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclone_host import topology
from netclone_host.errors import UserError
from netclone_host.topology import Client, Server, Switch, Topology

TWO_SERVERS = """
[[server]]
id = 0
ip4 = "10.0.1.101"
mac = "02:00:00:00:01:65"
port = "s1"

[[server]]
id = 1
ip6 = "fd00:1::66"
mac = "02:00:00:00:01:66"
port = 2
workers = 8
"""


def test_defaults_and_values() -> None:
    rack = topology.loads(TWO_SERVERS)
    assert rack.switch == Switch(0, (1000,), 2, 131072, False, 32, 0)
    assert rack.servers[0] == Server(
        0, "02:00:00:00:01:65", "s1", IPv4Address("10.0.1.101"), None, 15
    )
    assert rack.servers[1].ip6 == IPv6Address("fd00:1::66")
    assert (rack.servers[1].port, rack.servers[1].workers) == (2, 8)
    assert rack.clients == ()
    assert rack.n_groups == 2


def test_groups_are_numbered_as_the_wire_format_says() -> None:
    assert topology.group_pairs([0, 1, 2]) == [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]


@given(st.integers(2, 40))
def test_groups_are_all_ordered_pairs(n: int) -> None:
    pairs = topology.group_pairs(range(n))
    assert len(pairs) == n * (n - 1) == len(set(pairs))
    for k in range(0, len(pairs), 2):
        assert pairs[k] == pairs[k + 1][::-1]
        assert pairs[k][0] < pairs[k][1]
    assert pairs[::2] == sorted(pairs[::2])


def test_groups_count_the_servers_that_are_there_in_order_of_id() -> None:
    servers = [
        Server(i, f"02:00:00:00:01:{i:02x}", f"s{i}", IPv4Address(f"10.0.1.{i + 100}"))
        for i in (7, 2, 9)
    ]
    rack = Topology(servers=tuple(servers))
    assert rack.groups() == {1: (2, 7), 2: (7, 2), 3: (2, 9), 4: (9, 2), 5: (7, 9), 6: (9, 7)}
    assert rack.server(9).port == "s9"
    with pytest.raises(UserError, match="no server with id 3"):
        rack.server(3)


def test_256_servers_have_65280_groups() -> None:
    servers = tuple(
        Server(i, f"02:00:00:00:01:{i:02x}", i, IPv4Address(f"10.0.2.{i}")) for i in range(256)
    )
    rack = topology.loads(topology.dumps(Topology(Switch(capacity=256), servers)))
    assert rack.n_groups == 65280
    assert rack.groups()[65280] == (255, 254)


def test_capacity_follows_the_servers_unless_it_is_given() -> None:
    servers = "".join(
        f'[[server]]\nid = {i}\nip4 = "10.0.2.{i}"\nmac = "02:00:00:00:01:{i:02x}"\nport = {i}\n'
        for i in range(33)
    )
    assert topology.loads(servers).switch.capacity == 33
    with pytest.raises(UserError, match="33 servers do not fit"):
        topology.loads("[switch]\ncapacity = 32\n" + servers)


@given(
    st.integers(0, 65535),
    st.lists(st.integers(1, 65535), min_size=1, max_size=8, unique=True),
    st.integers(1, 16),
    st.integers(1, 24),
    st.booleans(),
    st.lists(st.integers(0, 255), min_size=2, max_size=5, unique=True),
    st.integers(1, 65535),
)
def test_a_written_file_reads_back(
    switch_id: int,
    ports: list[int],
    tables: int,
    slots_log2: int,
    racksched: bool,
    ids: list[int],
    workers: int,
) -> None:
    switch = Switch(switch_id, tuple(ports), tables, 1 << slots_log2, racksched, 200, 50)
    servers = tuple(
        Server(
            i,
            f"02:00:00:00:01:{i:02x}",
            f"s{i}" if i % 2 else i,
            IPv4Address(f"10.0.1.{i}"),
            IPv6Address(f"fd00:1::{i + 1:x}") if i % 3 else None,
            workers,
        )
        for i in ids
    )
    clients = (Client("c1", "02:00:00:00:02:01", "c1", None, IPv6Address("fd00:1::ffff")),)
    rack = Topology(switch, servers, clients)
    assert topology.loads(topology.dumps(rack)) == rack


SERVER_2 = '[[server]]\nid = 2\nip4 = "10.0.1.103"\nmac = "02:00:00:00:01:67"\nport = 3\n'


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[swich]\n" + TWO_SERVERS, "unknown key 'swich' in the file", "did you mean 'switch'"),
        ("[switch]\nport = [1]\n" + TWO_SERVERS, "unknown key 'port' in [switch]", "'ports'"),
        (TWO_SERVERS + "worker = 3\n", "unknown key 'worker' in [[server]]", "'workers'"),
        (TWO_SERVERS + "zzz = 3\n", "unknown key 'zzz'", "known keys: id"),
        (TWO_SERVERS + "[[client]]\nip4 = '10.0.1.1'\n", "[[client]] has no 'name'", "add name"),
        ("", "at least two servers, 0 given", "--servers 2"),
        (SERVER_2, "at least two servers, 1 given", "--servers 2"),
        (TWO_SERVERS + SERVER_2.replace("id = 2", "id = 1"), "id 1 is used twice", "of its own"),
        (TWO_SERVERS + SERVER_2.replace("id = 2", "id = 256"), "id = 256 is not", "0 to 255"),
        (TWO_SERVERS + SERVER_2.replace("id = 2", "id = -1"), "id = -1 is not", "0 to 255"),
        (TWO_SERVERS + SERVER_2.replace("id = 2", "id = true"), "id = True is not", "0 to 255"),
        (
            TWO_SERVERS + SERVER_2.replace("10.0.1.103", "10.0.1.101"),
            "ip4 10.0.1.101 is used twice, by server 0 and by server 2",
            "of its own",
        ),
        (TWO_SERVERS + SERVER_2.replace(":67", ":65"), "mac 02:00:00:00:01:65 is used", "MAC"),
        (TWO_SERVERS + SERVER_2.replace("02:00", "01:00"), "mac =", "unicast MAC"),
        (TWO_SERVERS + SERVER_2.replace("10.0.1.103", "10.0.1"), "ip4 = '10.0.1'", "IPv4 address"),
        (TWO_SERVERS + SERVER_2.replace("10.0.1.103", "0.0.0.0"), "ip4 =", "unicast"),
        (TWO_SERVERS + SERVER_2.replace("10.0.1.103", "255.255.255.255"), "ip4 =", "unicast"),
        (TWO_SERVERS + SERVER_2.replace('ip4 = "10.0.1.103"', ""), "neither 'ip4' nor", "add one"),
        (TWO_SERVERS + SERVER_2.replace("port = 3", "port = 'a_link_too_long_'"), "port =", "15"),
        (TWO_SERVERS + SERVER_2.replace("port = 3", ""), "server 2 has no 'port'", "add port"),
        (TWO_SERVERS + SERVER_2 + "workers = 0\n", "workers = 0", "1 to 65535"),
        ("[switch]\nfilter_slots = 1000\n" + TWO_SERVERS, "filter_slots = 1000", "power of two"),
        ("[switch]\nfilter_tables = 17\n" + TWO_SERVERS, "filter_tables = 17", "1 to 16"),
        ("[switch]\nports = []\n" + TWO_SERVERS, "ports = []", "1 to 8"),
        ("[switch]\nports = [1, 1]\n" + TWO_SERVERS, "ports = [1, 1]", "different"),
        (
            "[switch]\nserver_timeout_ms = 9\n" + TWO_SERVERS,
            "server_timeout_ms = 9",
            "0 (off) or an integer of 10 to 3600000",
        ),
        ("[switch]\nserver_timeout_ms = true\n" + TWO_SERVERS, "server_timeout_ms", "0 (off)"),
        ("[switch]\nracksched = 1\n" + TWO_SERVERS, "racksched = 1", "true or false"),
        ("[switch]\ncapacity = 257\n" + TWO_SERVERS, "capacity = 257", "2 to 256"),
        ("switch = 3\n" + TWO_SERVERS, "'switch' must be a table", "[switch]"),
        ("[server]\nid = 1\n", "'server' must be an array of tables", "[[server]]"),
        ("[switch\n", "not valid TOML", "docs/rack.md"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence_with_a_hint(
    text: str, message: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        topology.loads(text, source="rack.toml")
    assert message in caught.value.message
    assert "rack.toml" in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_status == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        topology.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8"):
        topology.load(tmp_path / "bytes.toml")
