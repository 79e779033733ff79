# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Groups are renumbered while packets go on, and none of them gets a mixture.

A packet reads its group and, a moment later, the group's devmap; were one of them old
and the other new, its copies would leave by the wrong ports. So cloning is held while both
are rewritten, and all running programs are waited for before and after: meanwhile each
request goes to one server, and none is lost.

A process that is killed in there leaves HOLD set, and rightly so: the tables may disagree.
HOLD is part of what the switch is compared by, so the next change makes them agree and
takes it away (`xdp_switch`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

from netclone_host import crash_points
from netclone_host.attach import tables
from netclone_host.errors import UserError
from netclone_host.kernel import maps
from netclone_host.kernel.maps import Map


@contextlib.contextmanager
def cloning_held(config: Map, clone_ports: Map) -> Iterator[None]:
    """Rewrite groups inside. A configuration written inside must carry HOLD as well.

    UserError if the kernel refuses something inside: HOLD stays then."""
    try:
        _set_hold(config, True)
        _wait_for_programs(clone_ports)
        crash_points.reached("held")
        yield
        _wait_for_programs(clone_ports)
        _set_hold(config, False)
    except OSError as error:
        raise UserError(
            f"the system refused to renumber the groups: {error.strerror or error}; cloning is "
            "held, requests go to one server each",
            hint="mend that and repeat the command; 'netclone-host switch show' shows the hold",
        ) from error


def _set_hold(config: Map, hold: bool) -> None:
    value = tables.SwitchConfig.from_buffer_copy(config.lookup(0) or b"")
    flags = tables.SwitchFlag(value.flags)
    value.flags = flags | tables.SwitchFlag.HOLD if hold else flags & ~tables.SwitchFlag.HOLD
    config.update(0, value)


def _wait_for_programs(clone_ports: Map) -> None:
    """The kernel returns from an update of an array of maps when every program that was
    running has ended. Entry 0 is no group's."""
    size = ctypes.sizeof(tables.DevmapValue)
    devmap = maps.create_map(maps.MapType.DEVMAP, "nc_pair_ports", 4, size, 2)
    try:
        clone_ports.update(0, devmap.fd)
        clone_ports.delete(0)
    finally:
        os.close(devmap.fd)
