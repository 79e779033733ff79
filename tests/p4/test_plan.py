# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Topology -> entries: how many, which, what does not fit, and what a change costs."""

from __future__ import annotations

import dataclasses

import pytest

from netclone_host.control import limits
from netclone_host.control.entries import Action, Key, Plan, Replica, difference
from netclone_host.control.p4 import plan as p4_plan
from netclone_host.control.p4.plan import BMV2, TOFINO, Target, fdb_word
from netclone_host.control.p4.schema import TABLES
from netclone_host.control.targets import TargetName, plan_for
from netclone_host.errors import UserError
from netclone_host.topology import Topology
from tests.p4 import p4_text
from tests.p4.p4_text import P4
from tests.p4.racks import rack, server

BOTH = pytest.mark.parametrize("target", [BMV2, TOFINO], ids=lambda target: target.name)
LIMITS_P4 = p4_text.constants(p4_text.text(P4 / "shared" / "limits.p4"))


@BOTH
@pytest.mark.parametrize("n", [2, 6, 33, 256])
def test_rack_of_n_servers(target: Target, n: int) -> None:
    plan = p4_plan.p4_plan(rack(n), target)
    groups = plan.table("SwitchIngress.operands.groups")
    assert len(groups) == n * (n - 1) <= LIMITS_P4["NC_MAX_GROUPS"]
    assert {dict(key.match)["grp"] for key in groups} == set(range(1, n * (n - 1) + 1))
    for table in ("operands.sources_v4", "address.addresses_v4", "address.addresses_v6"):
        assert len(plan.table(f"SwitchIngress.{table}")) == n <= LIMITS_P4["NC_MAX_SERVERS"]
    assert len(plan.table("SwitchIngress.hosts.hosts")) == n + 3 <= LIMITS_P4["HOST_TABLE_SIZE"]
    clones = set(plan.multicast) - {p4_plan.MULTICAST_FLOOD}
    assert clones == {0x100 | sid for sid in range(n)}
    assert max(clones) < 1 << 16
    assert plan.multicast[0x100] == (Replica(1), Replica(target.clone_port, 1))
    assert len(plan.multicast[p4_plan.MULTICAST_FLOOD]) == n + 1


@BOTH
def test_entries_are_of_tables_that_the_program_has(target: Target) -> None:
    plan = p4_plan.p4_plan(rack(3, racksched=True, id=7), target)
    for key, action in plan.entries.items():
        schema = TABLES.get(key.table)
        if schema is not None and key.match:
            assert [name for name, _ in key.match] == [field.name for field in schema.match]
            assert action.name in schema.actions
    ids = plan.table("SwitchIngress.operands.switch_ids")
    assert {dict(key.match)["switch_id"] for key in ids} == {0, 7}
    assert dict(plan.entries[Key("SwitchIngress.settings")].params)["racksched"] == 1


@pytest.mark.parametrize(
    ("ipv4", "ipv6", "usable"),
    [((1, 1), (1, 1), (3, 3)), ((1, 0), (0, 1), (2, 1)), ((0, 1), (1, 0), (1, 2))],
)
def test_usable_candidates(
    ipv4: tuple[int, int], ipv6: tuple[int, int], usable: tuple[int, int]
) -> None:
    servers = tuple(server(i, bool(ipv4[i]), bool(ipv6[i])) for i in (0, 1))
    plan = p4_plan.p4_plan(Topology(servers=servers), BMV2)
    group = plan.entries[Key("SwitchIngress.operands.groups", (("grp", 1),))]
    values = dict(group.params)
    assert (values["usable_v4"], values["usable_v6"]) == usable


@BOTH
def test_too_many_hosts_names_the_table_and_the_limit(target: Target) -> None:
    fits = LIMITS_P4["HOST_TABLE_SIZE"] - 2 - 1
    p4_plan.p4_plan(rack(2, n_clients=fits), target)
    with pytest.raises(UserError, match=r"hosts\.hosts holds 1024 entries.* 1025"):
        p4_plan.p4_plan(rack(2, n_clients=fits + 1), target)


def test_too_many_groups_names_the_table_and_the_limit() -> None:
    entries = {
        Key("SwitchIngress.operands.groups", (("grp", grp),)): Action("candidates")
        for grp in range(1, LIMITS_P4["NC_MAX_GROUPS"] + 2)
    }
    with pytest.raises(UserError, match="groups holds 65280 entries, the topology needs 65281"):
        limits.check(Plan(entries), limits.TOFINO)


def test_multicast_group_out_of_range_and_too_large() -> None:
    with pytest.raises(UserError, match="multicast group 65536 is out of range"):
        limits.check(Plan({}, {1 << 16: (Replica(1),)}), limits.BMV2)
    ports = tuple(Replica(port) for port in range(289))
    with pytest.raises(UserError, match=r"multicast group 1 has room for 288 ports.* 289"):
        limits.check(Plan({}, {1: ports}), limits.TOFINO)


@BOTH
def test_filter_tables_and_slots_are_compiled_in(target: Target) -> None:
    most = target.limits.filter_tables
    p4_plan.p4_plan(rack(2, filter_tables=most), target)
    with pytest.raises(UserError, match=f"register filter has {most} tables"):
        p4_plan.p4_plan(rack(2, filter_tables=most + 1), target)
    with pytest.raises(UserError, match="register filter has 131072 slots"):
        p4_plan.p4_plan(rack(2, filter_slots=1 << 18), target)


@BOTH
def test_rules_that_the_programs_lack_are_refused(target: Target) -> None:
    with pytest.raises(UserError, match="do not detect failed servers"):
        p4_plan.p4_plan(rack(2, server_timeout_ms=5), target)
    with pytest.raises(UserError, match="do not have the reserve rule"):
        p4_plan.p4_plan(rack(2, reserve=True), target)


def test_port_must_be_a_number() -> None:
    topology = rack(2)
    servers = (dataclasses.replace(topology.servers[0], port="s1"), topology.servers[1])
    with pytest.raises(UserError, match="server 0: port 's1' is not a port number"):
        p4_plan.p4_plan(dataclasses.replace(topology, servers=servers), BMV2)


@pytest.mark.parametrize("target", TargetName)
def test_same_plan_twice_is_no_difference(target: TargetName) -> None:
    assert not difference(plan_for(target, rack(5)), plan_for(target, rack(5)))


@pytest.mark.parametrize("target", TargetName)
def test_moved_server_changes_only_what_names_its_port(target: TargetName) -> None:
    before = rack(4)
    moved = dataclasses.replace(before.servers[3], port=99)
    after = dataclasses.replace(before, servers=(*before.servers[:3], moved))
    changes = difference(plan_for(target, before), plan_for(target, after))
    touched = {key.table.rpartition(".")[2] for key in (*changes.modify, *changes.insert)}
    expected = {
        TargetName.XDP: {"nc_servers", "nc_ports", "nc_clone_ports", "nc_fdb"},
        TargetName.BMV2: {"addresses_v4", "addresses_v6", "hosts", "fdb"},
        TargetName.TOFINO: {"addresses_v4", "addresses_v6", "hosts"},
    }
    assert touched == expected[target]
    if target is not TargetName.XDP:
        assert set(changes.multicast) == {0x103, p4_plan.MULTICAST_FLOOD}


@pytest.mark.parametrize("target", TargetName)
def test_failed_server_leaves_no_entry_behind(target: TargetName) -> None:
    before = rack(4)
    after = dataclasses.replace(before, servers=before.servers[:2] + before.servers[3:])
    plan = plan_for(target, after)
    changes = difference(plan_for(target, before), plan)
    groups = [key for key in changes.delete if key.table.endswith("groups")]
    assert len(groups) == 4 * 3 - 3 * 2
    named = [action for key, action in plan.entries.items() if key.table.endswith("groups")]
    assert all(
        2 not in dict(action.params).values()
        for action in (Action(a.name, a.params[:2]) for a in named)
    )
    if target is not TargetName.XDP:
        assert changes.delete_multicast == (0x102,)


def test_forwarding_cache_words_fit_thrifts_signed_integers() -> None:
    word = fdb_word("fe:ff:ff:ff:ff:ff", 511)
    assert word < 1 << 63
    assert word >> 48 == 511 and word & (1 << 48) - 1 == 0xFEFFFFFFFFFF
