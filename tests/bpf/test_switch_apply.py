# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`switch apply --target xdp` on a switch that is attached and running."""

from __future__ import annotations

import dataclasses
from ipaddress import IPv6Address

import pytest

from netclone_host.attach import status, tables
from netclone_host.attach.table_access import pinned_table
from netclone_host.control.targets import TargetName, connect
from netclone_host.errors import UserError
from netclone_host.topology import Topology

from .conftest import Namespace
from .running_switch import bring, config, known_of, remember, timed


def group(grp: int) -> tuple[int, int]:
    with pinned_table(status.attached_to("p0"), tables.Group) as groups:
        found = groups[grp]
    return found.first, found.second


def test_what_attach_wrote_needs_no_change(rack: Topology) -> None:
    assert bring(rack) == 0


def test_a_failed_server_goes_and_comes_back(rack: Topology) -> None:
    smaller = dataclasses.replace(rack, servers=(rack.servers[0], rack.servers[2]))
    assert bring(smaller) > 0
    assert config().n_groups == 2
    assert [group(grp) for grp in (1, 2, 3)] == [(0, 2), (2, 0), (0, 0)]
    assert sorted(status.read_states(status.attached_to("p0"))) == ["0", "2"]
    assert bring(smaller) == 0
    assert bring(rack) > 0
    assert group(1) == (0, 1) and config().n_groups == 6
    assert bring(rack) == 0


def test_nothing_old_holds_for_a_new_server(rack: Topology) -> None:
    smaller = dataclasses.replace(rack, servers=rack.servers[:2])
    bring(timed(smaller, 1000))
    for sid in (1, 2):
        remember(sid, queue=7, owed=5)
    bring(timed(rack, 1000))
    assert (known_of(1), known_of(2)) == ((7, 5), (0, 0))


def test_nothing_old_holds_for_another_machine_in_a_servers_place(rack: Topology) -> None:
    bring(timed(rack, 1000))
    for sid in (0, 1):
        remember(sid, queue=7, owed=5)
    other = dataclasses.replace(rack.servers[1], mac="02:00:00:00:01:99")
    servers = (rack.servers[0], other, rack.servers[2])
    bring(timed(dataclasses.replace(rack, servers=servers), 1000))
    assert (known_of(0), known_of(1)) == ((7, 5), (0, 0))


def test_debts_from_when_failures_were_not_looked_for_are_none(rack: Topology) -> None:
    """Then no answer clears what a server owes."""
    bring(timed(rack, 1000))
    remember(1, queue=7, owed=5)
    bring(timed(rack, 2000))
    assert known_of(1) == (7, 5)
    bring(timed(rack, 0))
    bring(timed(rack, 1000))
    assert known_of(1) == (7, 0)


def test_only_what_differs_is_written(rack: Topology) -> None:
    switch = dataclasses.replace(rack.switch, racksched=True)
    assert bring(dataclasses.replace(rack, switch=switch)) == 1
    assert config().flags & tables.SwitchFlag.RACKSCHED


def test_generic_mode_is_not_the_topologys_to_change(rack: Topology) -> None:
    with pinned_table(status.attached_to("p0"), tables.SwitchConfig) as configs:
        before = configs[0]
        before.flags |= tables.SwitchFlag.GENERIC
        configs[0] = before
    assert bring(dataclasses.replace(rack, switch=dataclasses.replace(rack.switch, id=5))) == 1
    assert config().flags & tables.SwitchFlag.GENERIC and config().switch_id == 5


def test_a_rack_that_outgrew_the_maps_is_refused(rack: Topology) -> None:
    servers = tuple(
        dataclasses.replace(rack.servers[0], id=n, mac=f"02:00:00:00:02:{n:02x}", ip4=None, ip6=ip)
        for n, ip in enumerate(IPv6Address("fd00::") + n for n in range(40))
    )
    switch = dataclasses.replace(rack.switch, capacity=64)
    with pytest.raises(UserError, match=r"table nc_\w+ holds 992 groups.* needs 1560"):
        bring(Topology(switch, servers))
    assert bring(rack) == 0


def test_a_port_that_is_not_here_is_named(rack: Topology) -> None:
    moved = dataclasses.replace(rack.servers[1], port="p9")
    servers = (rack.servers[0], moved, rack.servers[2])
    with pytest.raises(UserError, match="no interface p9"):
        bring(dataclasses.replace(rack, servers=servers))


def test_no_switch_here(namespace: Namespace) -> None:
    with pytest.raises(UserError, match="no XDP switch is attached"):
        connect(TargetName.XDP, None)
