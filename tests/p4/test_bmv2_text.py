# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What simple_switch_CLI prints, read back."""

from __future__ import annotations

import pytest

from netclone_host.control.p4.bmv2_cli import (
    Entry,
    Node,
    RuntimeCli,
    parse_counter,
    parse_multicast,
    parse_node_handle,
    parse_register,
    parse_table,
)
from netclone_host.errors import UserError

TABLE = """\
==========
TABLE ENTRIES
**********
Dumping entry 0x1000002
Match key:
* hdr.netclone.sid    : EXACT     00000003
* hdr.ipv4.src_addr   : EXACT     0a000165
Action entry: SwitchIngress.operands.source_is_server -{space}
**********
Dumping entry 0x3
Match key:
* hdr.netclone.sid    : EXACT     00000004
* hdr.ipv4.src_addr   : EXACT     0a000166
Action entry: SwitchIngress.x - 0a, 02
==========
Dumping default entry
Action entry: SwitchIngress.settings - 01, 01ffff
==========
""".replace("{space}", " ")

MULTICAST = """\
==========
MC ENTRIES
**********
mgrp(1)
  -> (L1h=0, rid=0) -> (ports=[1, 2, 7], lags=[])
**********
mgrp(256)
  -> (L1h=1, rid=0) -> (ports=[1], lags=[])
  -> (L1h=2, rid=1) -> (ports=[510], lags=[])
==========
LAGS
==========
"""


def test_table() -> None:
    entries, default = parse_table(TABLE)
    assert entries == [
        Entry(0x1000002, (3, 0x0A000165), "SwitchIngress.operands.source_is_server", ()),
        Entry(3, (4, 0x0A000166), "SwitchIngress.x", (10, 2)),
    ]
    assert default == ("SwitchIngress.settings", (1, 0x1FFFF))


def test_multicast() -> None:
    assert parse_multicast(MULTICAST) == {
        1: [Node(0, 0, (1, 2, 7))],
        256: [Node(1, 0, (1,)), Node(2, 1, (510,))],
    }


def test_handles_and_registers() -> None:
    text = "Creating node with rid 1 , port map 10 and lag map \nnode was created with handle 12\n"
    assert parse_node_handle(text) == 12
    assert parse_counter("reasons[13]= (920 bytes, 10 packets)\n") == 10
    assert parse_register("fdb[357]= 144115188099252225\n") == 144115188099252225


def test_missing_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="simple_switch_CLI is not on the PATH"):
        RuntimeCli().run(["mc_dump"])
