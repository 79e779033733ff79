# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a loader gives: programs and maps, by file descriptor. Attaching, pinning and
table writing are the same whichever loader it was."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from netclone_host.closeable import Closing
from netclone_host.kernel.maps import Map

MapSizes = Mapping[str, int]
"""Map name -> max_entries; maps that are not named keep the size of the source."""


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


@dataclass
class LoadedObject(Closing):
    """Loaded programs and maps of one role. Owns the file descriptors."""

    programs: dict[str, int]
    maps: dict[str, Map]

    def close(self) -> None:
        """Give the file descriptors back; what is attached or pinned stays."""
        for fd in [*self.programs.values(), *(entry.fd for entry in self.maps.values())]:
            os.close(fd)
        self.programs, self.maps = {}, {}


class Loader(Protocol):
    """`load` raises VerifierError, MissingFeatureError or PrivilegeError."""

    @property
    def name(self) -> str: ...

    def load(self, role: Role, sizes: MapSizes) -> LoadedObject: ...
