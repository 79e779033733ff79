# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The present settings of attached programs, which may have changed since attach."""

from __future__ import annotations

from typing import Any

from netclone_host.attach.journal import Attachment
from netclone_host.attach.roles import Role
from netclone_host.attach.table_access import pinned_config
from netclone_host.attach.tables import ClientConfig
from netclone_host.control.xdp import live, notices
from netclone_host.control.xdp.notices import Notices
from netclone_host.errors import UserError
from netclone_host.topology import MAX_SERVERS


def client_servers(attachment: Attachment) -> int:
    """The number of servers that a client knows."""
    n_groups = pinned_config(attachment, ClientConfig).n_groups
    return next(n for n in range(MAX_SERVERS + 1) if n * (n - 1) >= n_groups)


def look(attachment: Attachment) -> tuple[dict[str, Any], Notices | None]:
    """The settings that a command may have changed, and what an operator should know about a
    switch; neither if the maps cannot be seen."""
    try:
        if attachment.role == Role.CLIENT:
            return {"servers": client_servers(attachment)}, None
        if attachment.role == Role.SWITCH:
            with live.opened(attachment) as switch:
                tables, noticed = switch.tables(), notices.of(switch)
            return {
                "switch_id": tables.switch_id,
                "servers": len(tables.servers),
                "groups": tables.n_groups,
                "racksched": tables.racksched,
                "ports": list(tables.ports),
            }, noticed
    except (OSError, UserError):
        pass
    return {}, None
