# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a loader returns: programs and maps, by file descriptor. Attaching, pinning and filling
the tables do not depend on the loader."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from netclone_host.attach.roles import Role
from netclone_host.closeable import Closeable
from netclone_host.kernel.maps import Map

MapSizes = Mapping[str, int]
"""Map name -> max_entries; other maps keep the size that the source gives them."""


@dataclass
class LoadedObject(Closeable):
    """Loaded programs and maps of one role. Owns the file descriptors."""

    programs: dict[str, int]
    maps: dict[str, Map]

    def close(self) -> None:
        """Close the file descriptors; what is attached or pinned stays."""
        for fd in [*self.programs.values(), *(entry.fd for entry in self.maps.values())]:
            os.close(fd)
        self.programs, self.maps = {}, {}


class Loader(Protocol):
    """`load` raises VerifierError, MissingFeatureError or PrivilegeError."""

    @property
    def name(self) -> str: ...

    def load(self, role: Role, sizes: MapSizes) -> LoadedObject: ...
