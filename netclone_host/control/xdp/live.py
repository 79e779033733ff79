# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running switch: what its tables hold, and what they are to hold next.

`switch` writes the changes, in an order in which packets may see them.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace

from netclone_host import crash_points
from netclone_host.attach import recovery
from netclone_host.attach.journal import Attachment
from netclone_host.attach.settings import ServerEntry, SwitchTables
from netclone_host.attach.table_access import pinned_map, pinned_table, table
from netclone_host.attach.tables import (
    MAX_SERVERS,
    ClientConfig,
    Health,
    MapName,
    SwitchConfig,
    SwitchFlag,
)
from netclone_host.control import backend
from netclone_host.control.xdp import members, read
from netclone_host.control.xdp.deleted_ports import GonePort
from netclone_host.control.xdp.plan import tables_plan
from netclone_host.control.xdp.switch import XdpSwitch
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.kernel.maps import Map

_MAPS = (
    MapName.SWITCH_CONFIG,
    MapName.GROUPS,
    MapName.SERVERS,
    MapName.STATE,
    MapName.HEALTH,
    MapName.FILTER,
    MapName.REQUESTS,
    MapName.ATTEMPTS,
    MapName.FDB,
    MapName.PORTS,
    MapName.CLONE_PORTS,
)


class LiveSwitch:
    """The maps of an attached switch; use it inside the switch's network namespace."""

    def __init__(self, attachment: Attachment, maps: dict[str, Map]) -> None:
        self.attachment = attachment
        self.maps = maps

    def config(self) -> SwitchConfig:
        return table(self.maps, SwitchConfig)[0]

    def held(self) -> bool:
        """Whether nothing is cloned: a change is under way, or was killed (`hold`)."""
        return bool(self.config().flags & SwitchFlag.HOLD)

    def health(self, sid: int) -> Health:
        return table(self.maps, Health)[sid]

    def queue_length(self, sid: int) -> int:
        """The state table: waiting requests according to the last response."""
        return self.maps[MapName.STATE].number(sid)

    def tables(self) -> SwitchTables:
        """What the switch holds, in the words of the plan."""
        config = self.config()
        flags = SwitchFlag(config.flags)
        pairs = read.group_table(self.maps[MapName.GROUPS])
        return SwitchTables(
            switch_id=config.switch_id,
            ports=tuple(config.ports.port[: config.ports.count]),
            filter_tables=config.n_filter_tables,
            filter_slots=config.filter_mask + 1,
            racksched=SwitchFlag.RACKSCHED in flags,
            cloning=SwitchFlag.NO_CLONES not in flags,
            reserve=SwitchFlag.RESERVE in flags,
            server_timeout_ns=config.server_timeout_ns,
            state_timeout_ns=config.state_timeout_ns,
            clone_share=config.clone_share,
            capacity=self.capacity(),
            groups=dict(enumerate(pairs[1 : config.n_groups + 1], start=1)),
            servers=read.address_table(self.maps),
            clients={},  # what a switch knows of them is in its cache
        )

    def ports(self) -> list[str]:
        """Present names of the attached links."""
        return recovery.names_now(self.attachment, netns.current())

    def capacity(self) -> int:
        """The number of servers whose groups fit the group table."""
        room = self.maps[MapName.GROUPS].max_entries - 1
        return next(n for n in range(MAX_SERVERS, 0, -1) if n * (n - 1) <= room)

    def settled(self) -> SwitchTables:
        """The same; after a change that was killed, what is left of it (`members`)."""
        pairs = read.group_table(self.maps[MapName.GROUPS])[1:]
        written = list(itertools.takewhile(lambda pair: pair[0] != pair[1], pairs))
        return members.settled(self.tables(), written)

    def occupancy(self) -> list[int]:
        """Slots in use, for each filter table."""
        config = self.config()
        slots = config.filter_mask + 1
        words = memoryview(self.maps[MapName.FILTER].values()).cast("Q")
        tables = (words[at : at + slots] for at in range(0, config.n_filter_tables * slots, slots))
        return [slots - table.tolist().count(0) for table in tables]

    # ---- changes ----

    def set(
        self, *, racksched: bool | None = None, server_timeout_ns: int | None = None
    ) -> SwitchTables:
        """Change settings from the next packet on; returns what the switch holds then."""
        tables = self.settled()
        if racksched is not None:
            tables = replace(tables, racksched=racksched)
        if server_timeout_ns is not None:
            tables = replace(tables, server_timeout_ns=server_timeout_ns)
        self.apply(tables)
        return tables

    def apply(self, desired: SwitchTables) -> None:
        """Bring the switch to the plan, under traffic. UserError, before anything is written, if
        the plan does not fit."""
        self._checked(desired)
        backend.apply(XdpSwitch(self.attachment), tables_plan(desired))

    def server(self, sid: int) -> ServerEntry | None:
        """The entry of a server; None if there is none, or while a change of the servers is
        unfinished."""
        tables = self.tables()
        return None if members.unfinished(tables) else tables.servers.get(sid)

    def without_server(self, sid: int) -> SwitchTables:
        """The present tables with a server removed; UserError if that is impossible."""
        return self._checked(members.without_server(self.tables(), self.settled(), sid))

    def with_server(self, sid: int, entry: ServerEntry) -> SwitchTables:
        """The present tables with a server added; UserError if that is impossible."""
        return self._checked(members.with_server(self.tables(), self.settled(), sid, entry))

    def _checked(self, desired: SwitchTables) -> SwitchTables:
        capacity = self.capacity()
        if len(desired.servers) > capacity:
            raise UserError(
                f"{len(desired.servers)} servers do not fit the table {MapName.GROUPS}, which has "
                f"room for {capacity}",
                hint="attach the switch again with a larger capacity in its topology",
            )
        attached = self.ports()
        for sid, server in desired.servers.items():
            # A server whose link was deleted is no reason to refuse changes of others.
            if server.port not in attached and not isinstance(server.port, GonePort):
                raise UserError(
                    f"server {sid} sits behind port {server.port}, which the switch is not "
                    "attached to",
                    hint=f"its ports are {', '.join(attached)}",
                )
        return desired


@contextlib.contextmanager
def opened(attachment: Attachment) -> Iterator[LiveSwitch]:
    with contextlib.ExitStack() as stack:
        maps: dict[str, Map] = {
            name: stack.enter_context(pinned_map(attachment, name)) for name in _MAPS
        }
        yield LiveSwitch(attachment, maps)


def set_client_servers(attachment: Attachment, n_servers: int) -> None:
    """Tell a client the number of servers, and so the range of GRP. Call with the journal
    locked."""
    crash_points.reached("tell-client")
    with pinned_table(attachment, ClientConfig) as configs:
        config = configs[0]
        config.n_groups = n_servers * (n_servers - 1)
        # Where the journal cannot be written nothing changes.
        attachment.settings["servers"] = n_servers
        attachment.save()
        configs[0] = config
