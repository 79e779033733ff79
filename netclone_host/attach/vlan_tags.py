# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A switch in native mode keeps the VLAN tags of what it forwards: while it is attached, the
offloads that take them off frames before XDP sees them (`kernel.offloads`) are off."""

from __future__ import annotations

from collections.abc import Callable

from netclone_host.attach.journal import Port
from netclone_host.kernel import interfaces, offloads
from netclone_host.kernel.interfaces import Interface
from netclone_host.kernel.xdp import ModeUnavailable


def warnings(ports: list[Interface]) -> list[str]:
    """Where nobody can tell."""
    return [
        f"the other end of {port.name} cannot be looked at: with tx-vlan-offload on, VLAN tags of "
        "what it sends are lost (ethtool -K PEER tx-vlan-offload off)"
        for port in ports
        if offloads.of_tags(port) is None
    ]


def keep(port: Port, save: Callable[[str], None]) -> None:
    """Switch off what takes tags at a port; the journal (`save`, with a step's name) has it before.
    ModeUnavailable where the driver insists."""
    interface = interfaces.by_index(port.ifindex)
    found = offloads.of_tags(interface)
    if found is None:
        return
    if found.fixed:
        insists = f"VLAN tags would be lost, {', '.join(found.fixed)} cannot be switched off"
        raise ModeUnavailable(f"{port.name}: {insists}", "")
    if found.changeable:
        port.tag_offloads = found.changeable
        save(f"before-offloads-{port.name}")
        offloads.switch(interface, found.changeable, on=False)
        save(f"offloads-{port.name}")


def put_back(port: Port) -> None:
    """The port must be there."""
    if port.tag_offloads:
        offloads.switch(interfaces.by_index(port.ifindex), port.tag_offloads, on=True)


def survey() -> tuple[list[str], list[str]]:
    """Interfaces of this namespace whose tags `keep` would see to, and those where it cannot."""
    found = [(each.name, offloads.of_tags(each)) for each in interfaces.all_here()]
    seen_to = [name for name, taken in found if taken and taken.changeable and not taken.fixed]
    return seen_to, [name for name, taken in found if taken and taken.fixed]
