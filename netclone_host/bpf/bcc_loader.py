# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The second loader: BCC compiles the same C text at attach."""

from __future__ import annotations

from netclone_host.bpf.loader import LoadedObject, MapSizes, Role
from netclone_host.errors import MissingFeatureError


class BccLoader:
    name = "bcc"

    def load(self, role: Role, sizes: MapSizes) -> LoadedObject:
        raise MissingFeatureError("the BCC loader is not built yet", hint="use --loader libbpf")
