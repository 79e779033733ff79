# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The roles that a program is attached for, and the programs of each."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Role(enum.StrEnum):
    SERVER = "server"
    CLIENT = "client"
    SWITCH = "switch"


@dataclass(frozen=True)
class RolePrograms:
    """Names of a role's programs; what a role lacks is None."""

    xdp: str
    tc: str | None = None
    devmap: str | None = None

    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.xdp, self.tc, self.devmap) if name)


PROGRAMS = {
    Role.SERVER: RolePrograms(xdp="nc_server_in", tc="nc_server_out"),
    Role.CLIENT: RolePrograms(xdp="nc_client_in", tc="nc_client_out"),
    Role.SWITCH: RolePrograms(xdp="nc_switch_in", devmap="nc_switch_clone"),
}
