# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The three kinds of switch by name: their plans, and how to reach one."""

from __future__ import annotations

import enum

from netclone_host.control.backend import Backend
from netclone_host.control.entries import Plan
from netclone_host.errors import UserError
from netclone_host.topology import Topology


class TargetName(enum.StrEnum):
    XDP = "xdp"
    BMV2 = "bmv2"
    TOFINO = "tofino"


def plan_for(name: TargetName, topology: Topology) -> Plan:
    """What a switch of this kind is to hold. Needs no switch."""
    if name is TargetName.XDP:
        from netclone_host.control.xdp.plan import xdp_plan

        return xdp_plan(topology)
    from netclone_host.control.p4 import plan

    return plan.p4_plan(topology, plan.BMV2 if name is TargetName.BMV2 else plan.TOFINO)


def connect(name: TargetName, address: str | None) -> Backend:
    """The running switch. `address`: an interface of it (XDP), its Thrift port (BMv2), its
    gRPC address (Tofino); None means the usual one. UserError if it cannot be reached."""
    if name is TargetName.XDP:
        from netclone_host.control.xdp.attached import attached_switch
        from netclone_host.control.xdp.switch import XdpSwitch

        return XdpSwitch(attached_switch(address, "--address"))
    if name is TargetName.BMV2:
        from netclone_host.control.p4.bmv2 import Bmv2Switch
        from netclone_host.control.p4.bmv2_cli import RuntimeCli

        return Bmv2Switch(RuntimeCli(_thrift_port(address)))
    from netclone_host.control.p4.tofino import DEFAULT_ADDRESS, TofinoSwitch

    return TofinoSwitch(address or DEFAULT_ADDRESS)


def _thrift_port(address: str | None) -> int:
    from netclone_host.control.p4.bmv2_cli import DEFAULT_PORT

    if address is None:
        return DEFAULT_PORT
    if address.isdecimal() and 0 < int(address) < 65536:
        return int(address)
    raise UserError(
        f"{address!r} is not a Thrift port",
        hint="give the number that simple_switch got with --thrift-port",
    )
