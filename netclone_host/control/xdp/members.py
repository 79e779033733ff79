# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Servers come and go: the next tables of a switch, even after a change that was killed.

A change writes the addresses of new servers first, then the groups, then the number of groups,
and removes old groups and servers last (`switch`). If it is killed in between, the tables
disagree (`unfinished`). The groups tell how far it had come, so the next change, whatever it is,
starts from tables that agree (`settled`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from netclone_host.attach.settings import ServerEntry, SwitchTables
from netclone_host.errors import UserError
from netclone_host.topology import group_pairs

Pair = tuple[int, int]


def unfinished(tables: SwitchTables) -> bool:
    """Whether the groups are not those of the servers: a change of the servers was killed."""
    return tables.groups != _groups(tables.servers)


def settled(tables: SwitchTables, written: list[Pair]) -> SwitchTables:
    """The tables of the largest set of servers whose groups are complete.

    A server that a killed change was adding is in if its groups were written, and out if only its
    address was; one that was being removed is out if the others were renumbered, otherwise in.
    Either way no client draws a missing group: clients learn last about a server that comes,
    and first about one that goes.
    """
    return _of(tables, {sid: tables.servers[sid] for sid in whole(tables.servers, written)})


def whole(servers: Collection[int], written: list[Pair]) -> list[int]:
    """The largest set of servers whose groups are complete; all servers if there is none.

    `written` are the groups from GRP 1 on as the group table has them, in range or not."""
    for n_servers in range(len(servers), 1, -1):
        first = written[: n_servers * (n_servers - 1)]
        named = sorted({sid for pair in first for sid in pair})
        if len(named) == n_servers and first == group_pairs(named) and set(named) <= set(servers):
            return named
    return sorted(servers)


def _of(tables: SwitchTables, servers: dict[int, ServerEntry]) -> SwitchTables:
    return replace(tables, servers=servers, groups=_groups(servers))


def _groups(servers: Iterable[int]) -> dict[int, Pair]:
    return dict(enumerate(group_pairs(sorted(servers)), start=1))


def without_server(present: SwitchTables, agreed: SwitchTables, sid: int) -> SwitchTables:
    """The settled tables `agreed` of a switch with a server removed; also finishes its removal
    that was killed. UserError if that is impossible."""
    if sid not in present.servers:
        raise UserError(
            f"the switch has no server {sid}",
            hint=f"its servers are {', '.join(map(str, sorted(present.servers)))}",
        )
    servers = {other: entry for other, entry in agreed.servers.items() if other != sid}
    if len(servers) < 2:
        raise UserError(
            f"without server {sid} only one is left, and a group is two different servers",
            hint="add another server first: 'netclone-host switch add-server'",
        )
    return _of(agreed, servers)


def has_it_already(sid: int) -> UserError:
    return UserError(
        f"the switch already has a server {sid}",
        hint=f"'netclone-host switch remove-server {sid}' removes it",
    )


def with_server(
    present: SwitchTables, agreed: SwitchTables, sid: int, entry: ServerEntry
) -> SwitchTables:
    """The settled tables `agreed` of a switch with a server added; also finishes its addition
    that was killed. UserError if that is impossible."""
    if sid in present.servers and not unfinished(present):
        raise has_it_already(sid)
    others = {other: known for other, known in agreed.servers.items() if other != sid}
    for other, known in others.items():
        for what in ("ip4", "ip6", "mac"):
            value = getattr(entry, what)
            if value is not None and value == getattr(known, what):
                raise UserError(
                    f"server {other} has the same {what} as the new server {sid}",
                    hint="every server needs addresses of its own",
                )
    return _of(agreed, {**others, sid: entry})
