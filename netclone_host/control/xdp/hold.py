# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Renumbers groups under traffic, so that no packet sees a mixture of old and new.

A packet reads its group and, a moment later, the group's devmap. If one were old and the other
new, original and clone would leave by the wrong ports. So cloning is held while both are
rewritten, and the running programs are awaited before and after: meanwhile each request goes to
one server, and none is lost.

A process killed in between leaves HOLD set, rightly: the tables may disagree. HOLD counts as a
difference to any plan, so the next change makes the tables agree and clears it (`switch`).
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
    """Rewrite groups within the block. A configuration written there must keep HOLD.

    UserError if the kernel refuses something in there; then HOLD stays."""
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
    """An update of an array of maps returns when every program that was running has ended. No
    group has entry 0."""
    devmap = pair_devmap()
    try:
        table.update(0, devmap.fd)
        table.delete(0)
    finally:
        os.close(devmap.fd)
