# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The NetClone header as a scapy layer, bound to UDP and TCP port 1000.

``Ether() / IP() / UDP(sport=5000, dport=1000) / NetClone(type=0, grp=1)``
"""

from __future__ import annotations

from scapy.fields import (
    ByteEnumField,
    ByteField,
    FlagsField,
    IntField,
    ShortField,
    XByteField,
)
from scapy.layers.inet import TCP, UDP
from scapy.packet import Packet, bind_layers

from netclone_host.wire import DEFAULT_PORT, Clo, Flag, Type

_FLAG_NAMES = [flag.name for flag in Flag] + [f"bit{bit}" for bit in range(len(Flag), 8)]


class NetClone(Packet):  # type: ignore[misc]
    """Field names are those of :class:`netclone_host.wire.Header`."""

    name = "NetClone"
    fields_desc = [  # noqa: RUF012 (scapy's own convention)
        ShortField("switch_id", 0),
        FlagsField("flags", 0, 8, _FLAG_NAMES),
        ByteEnumField("type", Type.REQ, {kind.value: kind.name for kind in Type}),
        IntField("req_id", 0),
        IntField("grp", 0),
        IntField("sid", 0),
        IntField("state", 0),
        ByteField("pkt_index", 0),
        ByteField("pkt_count", 0),
        XByteField("reserved0", 0),
        ByteEnumField("clo", Clo.NONE, {clo.value: clo.name for clo in Clo}),
        ShortField("client_id", 0),
        XByteField("reserved1", 0),
        ByteField("idx", 0),
    ]


def bind_port(port: int) -> None:
    """Let scapy dissect packets from and to this port as NetClone."""
    for layer in (UDP, TCP):
        bind_layers(layer, NetClone, sport=port)
        bind_layers(layer, NetClone, dport=port)


bind_port(DEFAULT_PORT)
