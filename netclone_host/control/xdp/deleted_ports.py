# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ports whose link was deleted while the switch ran: its tables keep their indices.

Such a port can be neither named nor written any more; other ports do not depend on it.
"""

from __future__ import annotations

import socket


class GonePort(str):
    """What the tables know about it, as people read it; no link has such a name."""

    __slots__ = ("ifindex",)
    ifindex: int

    def __new__(cls, ifindex: int) -> GonePort:
        port = super().__new__(cls, f"a port that is gone (ifindex {ifindex})")
        port.ifindex = ifindex
        return port


def port_name(ifindex: int) -> str:
    """Name of the link with this index, or a `GonePort`."""
    try:
        return socket.if_indextoname(ifindex)
    except OSError:
        return GonePort(ifindex)
