# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Groups are renumbered while packets go on, and none of them gets a mixture.

A packet reads its group and, a moment later, the group's devmap; were one of them old
and the other new, original and clone would leave by the wrong ports. So cloning is held
while both are rewritten, and all running programs are waited for before and after:
meanwhile each request goes to one server, and none is lost.

A process that is killed in there leaves HOLD set, and rightly so: the tables may disagree.
HOLD is part of what the switch is compared by, so the next change makes them agree and
takes it away (`switch`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from netclone_host import crash_points
from netclone_host.attach.clone_ports import pair_devmap
from netclone_host.attach.table_access import Table
from netclone_host.attach.tables import SwitchConfig, SwitchFlag
from netclone_host.errors import UserError
from netclone_host.kernel.maps import Map


@contextlib.contextmanager
def cloning_held(configs: Table[SwitchConfig], clone_ports: Map) -> Iterator[None]:
    """Rewrite groups inside. A configuration written inside must carry HOLD as well.

    UserError if the kernel refuses something inside: HOLD stays then."""
    try:
        _set_hold(configs, True)
        _wait_for_programs(clone_ports)
        crash_points.reached("held")
        yield
        _wait_for_programs(clone_ports)
        _set_hold(configs, False)
    except OSError as error:
        raise UserError(
            f"the system refused to renumber the groups: {error.strerror or error}; cloning is "
            "held, requests go to one server each",
            hint="mend that and repeat the command; 'netclone-host switch show' shows the hold",
        ) from error


def _set_hold(configs: Table[SwitchConfig], hold: bool) -> None:
    value = configs[0]
    flags = SwitchFlag(value.flags)
    value.flags = flags | SwitchFlag.HOLD if hold else flags & ~SwitchFlag.HOLD
    configs[0] = value


def _wait_for_programs(table: Map) -> None:
    """The kernel returns from an update of an array of maps when every program that was
    running has ended. Entry 0 is no group's."""
    devmap = pair_devmap()
    try:
        table.update(0, devmap.fd)
        table.delete(0)
    finally:
        os.close(devmap.fd)
