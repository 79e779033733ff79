# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Tofino back end against a switch in memory."""

from __future__ import annotations

import dataclasses

import pytest

from netclone_host.control.backend import apply
from netclone_host.control.p4 import plan, tofino
from netclone_host.control.p4.tofino import TofinoSwitch
from netclone_host.errors import UserError
from netclone_host.topology import Topology
from tests.p4.fake_bfrt import Switch
from tests.p4.racks import rack


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Switch:
    fake = Switch()
    monkeypatch.setattr(tofino, "import_client", lambda: fake)
    return fake


def bring(topology: Topology) -> int:
    return len(apply(TofinoSwitch(), plan.p4_plan(topology, plan.TOFINO)))


def test_applying_twice_changes_nothing(switch: Switch) -> None:
    assert bring(rack(6)) > 30
    writes = list(switch.writes)
    assert bring(rack(6)) == 0
    assert switch.writes == writes


def test_entries_arrive_as_numbers(switch: Switch) -> None:
    bring(rack(2))
    addresses = switch.tables["pipe.SwitchIngress.address.addresses_v4"].entries
    assert addresses[(("nc.chosen", 1),)] == {
        "action_name": "SwitchIngress.address.to_ipv4",
        "address": 0x0A000101,
        "mac": 0x020000000101,
        "port": 2,
    }
    nodes = switch.tables["$pre.node"].entries
    members = switch.tables["$pre.mgid"].entries[(("$MGID", 0x100),)]["$MULTICAST_NODE_ID"]
    ports = [nodes[(("$MULTICAST_NODE_ID", node),)]["$DEV_PORT"] for node in members]
    assert ports == [[1], [68]]
    pruned = switch.tables["$pre.prune"].entries
    assert pruned[(("$MULTICAST_L2_XID", 2),)]["$DEV_PORT"] == [2]


def test_only_the_difference_is_written(switch: Switch) -> None:
    bring(rack(4))
    before = len(switch.writes)
    moved = dataclasses.replace(rack(4).servers[3], port=9)
    bring(dataclasses.replace(rack(4), servers=(*rack(4).servers[:3], moved)))
    entries = [w for w in switch.writes[before:] if "$pre" not in w]
    assert sorted(entries) == [
        "mod pipe.SwitchIngress.address.addresses_v4",
        "mod pipe.SwitchIngress.address.addresses_v6",
        "mod pipe.SwitchIngress.hosts.hosts",
    ]


def test_failed_server_is_removed(switch: Switch) -> None:
    bring(rack(4))
    bring(dataclasses.replace(rack(4), servers=rack(4).servers[1:]))
    assert len(switch.tables["pipe.SwitchIngress.operands.groups"].entries) == 6
    assert (("nc.chosen", 0),) not in switch.tables[
        "pipe.SwitchIngress.address.addresses_v4"
    ].entries
    assert (("$MGID", 0x100),) not in switch.tables["$pre.mgid"].entries
    assert bring(dataclasses.replace(rack(4), servers=rack(4).servers[1:])) == 0


def test_unreachable_switch_is_one_sentence(switch: Switch) -> None:
    switch.up = False
    with pytest.raises(UserError, match="cannot use the program netclone on the switch at") as got:
        TofinoSwitch()
    assert "--address" in got.value.hint


def test_missing_client_library_is_named() -> None:
    with pytest.raises(UserError, match="needs the Python module bfrt_grpc"):
        tofino.import_client()
