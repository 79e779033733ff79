# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an operator should know about a switch that differs from its topology."""

from __future__ import annotations

from dataclasses import dataclass

from netclone_host.control.xdp import read
from netclone_host.control.xdp.live import LiveSwitch
from netclone_host.control.xdp.members import unfinished


@dataclass(frozen=True)
class Notices:
    """Traces of a change of the switch that is at work, or was killed."""

    cloning_held: bool
    unfinished: bool
    racksched: bool
    settled: tuple[int, ...]
    """Servers of the switch after any change but the one that was killed."""
    out_of_use: tuple[int, ...] = ()
    """Servers whose port was down when the agent last looked."""

    def sentences(self) -> list[str]:
        """The same words wherever the notices are shown."""
        said = []
        if self.cloning_held:
            verb = f"switch set --{'' if self.racksched else 'no-'}racksched"
            said.append(
                "cloning is held, each request goes to one server: a change of the groups is "
                f"under way, or was killed; any change ends that, such as 'netclone-host {verb}', "
                "and so does 'switch apply'"
            )
        if self.unfinished:
            servers = ", ".join(map(str, self.settled))
            said.append(
                "the groups are not those of the servers: a change of the servers is under way, "
                "or was killed; repeat it ('add-server', 'remove-server' or 'apply') to finish "
                f"it, any other change settles the switch with servers {servers}"
            )
        if self.out_of_use:
            servers = ", ".join(map(str, self.out_of_use))
            said.append(
                f"out of use: servers {servers}, whose ports were down when 'netclone-host agent' "
                "last looked; it puts them back, also if it is started later"
            )
        return said


def of(switch: LiveSwitch) -> Notices:
    tables = switch.tables()
    return Notices(
        cloning_held=switch.held(),
        unfinished=unfinished(tables),
        racksched=tables.racksched,
        settled=tuple(sorted(switch.settled().servers)),
        out_of_use=read.out_of_use(switch.maps),
    )
