# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Takes servers out of use while the port that they sit behind is down, or has no carrier.

A server without a port (ifindex 0) is no candidate, and its requests go to the others. Which port
it was is read off the devmaps of its groups (`read.address_table`), so whatever an agent did
another one can undo: it may be killed and started again at any time.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Sequence

from netclone_host.attach import journal, status
from netclone_host.attach.journal import Attachment
from netclone_host.attach.roles import Role
from netclone_host.attach.table_access import Table, table
from netclone_host.attach.tables import Server
from netclone_host.control.xdp import live, read
from netclone_host.errors import UserError
from netclone_host.kernel import interfaces
from netclone_host.signals import signals_wait

LOOKED = "looked at all ports, waiting for changes"
_RTMGRP_LINK = 1
_ENOUGH = 1 << 16


def follow(ifnames: Sequence[str]) -> Iterator[str]:
    """Follow the ports of the switches that these are ports of, or of all in this network
    namespace, for ever. Yields a sentence for each server that changes, and one once all ports
    have been looked at."""
    with _link_events() as events:
        yield from settle(ifnames)
        yield LOOKED
        while True:
            _wait(events)
            yield from settle(ifnames)


def settle(ifnames: Sequence[str]) -> list[str]:
    """Bring every server in line with its port, once."""
    said = []
    with journal.locked():
        for attachment in status.attachments():
            wanted = not ifnames or set(ifnames) & set(attachment.ifnames)
            if attachment.role == Role.SWITCH and attachment.complete and wanted:
                # One that is damaged or being detached is no reason to leave the others alone.
                with contextlib.suppress(UserError, OSError), signals_wait():
                    said += _settle_switch(attachment)
    return said


def _settle_switch(attachment: Attachment) -> list[str]:
    usable = {each.ifindex for each in interfaces.all_here() if each.is_up and each.has_carrier}
    said = []
    with live.opened(attachment) as switch:
        if switch.held():  # groups and devmaps may disagree on where a server is
            return []
        rows: Table[Server] = table(switch.maps, Server)
        for sid, port in read.ports_of_servers(switch.maps).items():
            row = rows[sid]
            wanted = port if port in usable else 0
            if row.ifindex != wanted:
                row.ifindex = wanted
                rows[sid] = row
                state = "in use again" if wanted else "out of use"
                said.append(f"server {sid} is {state}: {_describe(port, bool(wanted))}")
    return said


def _describe(port: int, is_up: bool) -> str:
    try:
        name = socket.if_indextoname(port)
    except OSError:
        return "its port is gone"
    return f"port {name} is up" if is_up else f"port {name} is down or has no carrier"


@contextlib.contextmanager
def _link_events() -> Iterator[socket.socket]:
    """Becomes readable when a link of this namespace changes."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as events:
        events.bind((0, _RTMGRP_LINK))
        yield events


def _wait(events: socket.socket) -> None:
    """Until something changed; what it was is looked at afterwards, so that none is missed even
    where the kernel had no room for all events (ENOBUFS)."""
    with contextlib.suppress(OSError):
        events.recv(_ENOUGH)
        while True:
            events.recv(_ENOUGH, socket.MSG_DONTWAIT)
