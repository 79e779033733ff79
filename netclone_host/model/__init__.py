# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The oracle: what a switch, a server and a client of NetClone do with each packet.

Plain Python on real packet bytes, to be read next to the paper (Algorithm 1, sections
3.2 - 3.7) and docs/data-plane.md. It is independent of the data planes on purpose: it is
what they are checked against. `receive(port, frame, now_ns)` of each node takes one frame
and returns an Outcome: frames that leave (port, bytes) and counters (hook, name).
"""

from netclone_host.model.client import Client, answered_key
from netclone_host.model.extensions.multi_packet import ClonedRequestTable
from netclone_host.model.extensions.reserve import Averages
from netclone_host.model.extensions.retransmission import Attempts
from netclone_host.model.outcome import LINUX, WIRE, Outcome
from netclone_host.model.packet import Clo, Flags, Host, Packet, Type, Untouched, parse, slot_of
from netclone_host.model.server import Server
from netclone_host.model.switch import Server as Address
from netclone_host.model.switch import Switch

__all__ = [
    "LINUX",
    "WIRE",
    "Address",
    "Attempts",
    "Averages",
    "Client",
    "Clo",
    "ClonedRequestTable",
    "Flags",
    "Host",
    "Outcome",
    "Packet",
    "Server",
    "Switch",
    "Type",
    "Untouched",
    "answered_key",
    "parse",
    "slot_of",
]
