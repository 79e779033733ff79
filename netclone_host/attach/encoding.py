# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Settings -> the values that the tables hold (`tables`)."""

from __future__ import annotations

import ctypes
from ipaddress import IPv4Address, IPv6Address

from netclone_host.attach import tables
from netclone_host.attach.settings import (
    ClientSettings,
    HostAddresses,
    ServerEntry,
    ServerSettings,
    SwitchTables,
)

FDB_SLOTS = 1 << tables.FDB_SLOTS_LOG2
MAX_LEARNED_PORT = 0xFFFF
# Slices that may be alive at once: one of the ring is always being cleared.
_LIVE_SLICES = tables.INFLIGHT_SLICES - 1


def switch_config(switch: SwitchTables, *, generic: bool) -> tables.SwitchConfig:
    """`generic`: whether the programs run in generic XDP, which no topology says."""
    flags = tables.SwitchFlag.of(
        racksched=switch.racksched, cloning=switch.cloning, reserve=switch.reserve, generic=generic
    )
    return tables.SwitchConfig(
        ports=tables.Ports.of(switch.ports),
        flags=flags,
        n_groups=switch.n_groups,
        n_filter_tables=switch.filter_tables,
        filter_mask=switch.filter_slots - 1,
        switch_id=switch.switch_id,
        clone_share=switch.clone_share,
        server_timeout_ns=switch.server_timeout_ns,
        state_timeout_ns=switch.state_timeout_ns,
    )


def server_config(settings: ServerSettings) -> tables.ServerConfig:
    config = tables.ServerConfig(
        ports=tables.Ports.of(settings.ports),
        sid=settings.sid,
        workers=settings.workers,
        state_source=settings.state,
        n_filter_tables=settings.filter_tables,
        flags=tables.HostFlag.RESERVE if settings.reserve else 0,
    )
    config.slice_shift, config.slices = timeout_slices(settings.request_timeout_ns)
    return config


def host(known: HostAddresses) -> tables.Host:
    """More addresses than there is room for count as none known: any will do."""
    value = tables.Host(mac=_octets(known.mac))
    for kind, field in ((IPv4Address, value.ip4), (IPv6Address, value.ip6)):
        of_kind = [address for address in known.addresses if isinstance(address, kind)]
        if len(of_kind) <= tables.MAX_ADDRESSES:
            for place, address in enumerate(of_kind):
                field[place] = _octets(address.packed)
    return value


def client_config(settings: ClientSettings) -> tables.ClientConfig:
    flags = 0 if settings.switch_id is None else tables.HostFlag.SWITCH_ID
    return tables.ClientConfig(
        flags=flags,
        switch_id=settings.switch_id or 0,
        ports=tables.Ports.of(settings.ports),
        n_groups=settings.n_groups,
        n_filter_tables=settings.filter_tables,
        duplicate_window_ns=settings.duplicate_window_ns,
    )


def address_entry(server: ServerEntry, ifindex: int, max_frame: int = 0) -> tables.Server:
    """The row of a server behind the interface of this index, which sends frames up to
    max_frame bytes; 0: not known."""
    return tables.Server(
        flags=tables.ServerFlag.VALID,
        ifindex=ifindex,
        ip4=_octets(server.ip4.packed if server.ip4 else bytes(4)),
        mac=_octets(server.mac),
        max_frame=max_frame,
        ip6=_octets(server.ip6.packed if server.ip6 else bytes(16)),
    )


def _octets(value: bytes) -> ctypes.Array[ctypes.c_uint8]:
    return (ctypes.c_uint8 * len(value))(*value)


def fdb_slot(mac: bytes) -> int:
    """Slot of a MAC address in the forwarding cache (docs/data-plane.md)."""
    number = int.from_bytes(mac, "big")
    return (number ^ (number >> 12) ^ (number >> 24)) % FDB_SLOTS


def fdb_entry(mac: bytes, ifindex: int) -> int:
    """A word of the cache that is never learned over."""
    return int.from_bytes(mac, "big") << 16 | ifindex | tables.FDB_FIXED


def timeout_slices(timeout_ns: int) -> tuple[int, int]:
    """(shift, slices): a request is forgotten when it is `slices` slices of 2^shift ns old.

    A request that arrives at the end of its slice loses almost all of it, so there is one slice
    more than the timeout needs: no request is forgotten before its timeout.
    """
    shift = 0
    while -(-timeout_ns >> shift) + 1 > _LIVE_SLICES:
        shift += 1
    return shift, -(-timeout_ns >> shift) + 1
