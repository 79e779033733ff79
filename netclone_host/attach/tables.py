# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every table by its map's name, and what it holds, as ctypes structures: the mirror of
``xdp/include/netclone/tables.h``, held against it by tests/unit/test_abi.py."""

from __future__ import annotations

import ctypes
import enum
from ctypes import c_uint8, c_uint16, c_uint32, c_uint64
from typing import Any

_be16: Any = c_uint16.__ctype_be__

MAX_SERVERS = 256
MAX_GROUPS = MAX_SERVERS * (MAX_SERVERS - 1)
DEFAULT_SERVERS = 32
MAX_PORTS = 8
MAX_FILTER_TABLES = 16
DEFAULT_FILTER_TABLES = 2
FILTER_SLOTS_LOG2 = 17
REQUEST_SLOTS_LOG2 = 16
FDB_SLOTS_LOG2 = 12
INFLIGHT_SLOTS_LOG2 = 16
INFLIGHT_SLICES = 8
ANSWERED_SLOTS_LOG2 = 16
DEFAULT_PORT_ENTRIES = 1024
MAX_ADDRESSES = 4
FDB_FIXED = 1 << 56
"""In a word of FDB: never learned over."""
PORT_CLIENT = 1
"""In PORT_ROLES: a client is behind it, and no server."""


class MapName(enum.StrEnum):
    """The maps of all roles."""

    COUNTERS = "nc_counters"
    XSKS = "nc_xsks"

    SWITCH_CONFIG = "nc_switch_cfg"
    GROUPS = "nc_groups"
    SERVERS = "nc_servers"
    STATE = "nc_state"
    HEALTH = "nc_health"
    SEQUENCE = "nc_sequence"
    FILTER = "nc_filter"
    REQUESTS = "nc_requests"
    ATTEMPTS = "nc_attempts"
    FDB = "nc_fdb"
    PORT_ROLES = "nc_port_roles"
    CLONE_TOKENS = "nc_clone_tokens"
    PORTS = "nc_ports"
    CLONE_PORTS = "nc_clone_ports"
    PAIR_PORTS = "nc_pair_ports"
    """What CLONE_PORTS holds: a devmap of two ports."""
    TURN = "nc_turn"
    SCRATCH = "nc_scratch"

    SERVER_CONFIG = "nc_server_cfg"
    INFLIGHT = "nc_inflight"
    SLICES = "nc_slices"
    APP_STATE = "nc_app_state"
    RESERVE = "nc_reserve"

    CLIENT_CONFIG = "nc_client_cfg"
    ANSWERED = "nc_answered"


class SwitchFlag(enum.IntFlag):
    RACKSCHED = 1
    GENERIC = 2
    NO_CLONES = 4
    RESERVE = 8
    HOLD = 16

    @classmethod
    def of(cls, *, racksched: bool, cloning: bool, reserve: bool, generic: bool) -> SwitchFlag:
        """Without HOLD: complete tables agree with each other."""
        flags = cls(0)
        for flag, is_set in (
            (cls.RACKSCHED, racksched),
            (cls.NO_CLONES, not cloning),
            (cls.RESERVE, reserve),
            (cls.GENERIC, generic),
        ):
            flags |= flag if is_set else cls(0)
        return flags


class ServerFlag(enum.IntFlag):
    VALID = 1


class HostFlag(enum.IntFlag):
    XSK = 1
    RESERVE = 2
    SWITCH_ID = 4


class StateSource(enum.IntEnum):
    """Where a server's queue length comes from."""

    INFLIGHT = 0
    APP = 1


class Ports(ctypes.Structure):
    _fields_ = [("count", c_uint32), ("port", _be16 * MAX_PORTS)]

    @classmethod
    def of(cls, ports: tuple[int, ...]) -> Ports:
        """At most MAX_PORTS ports, in host order."""
        value = cls(count=len(ports))
        for position, port in enumerate(ports):
            value.port[position] = port
        return value


class SwitchConfig(ctypes.Structure):
    _fields_ = [
        ("ports", Ports),
        ("flags", c_uint32),
        ("n_groups", c_uint32),
        ("n_filter_tables", c_uint32),
        ("filter_mask", c_uint32),
        ("switch_id", c_uint16),
        ("reserved", c_uint16),
        ("clone_share", c_uint32),
        ("longest_frame", c_uint32),
        ("server_timeout_ns", c_uint64),
        ("state_timeout_ns", c_uint64),
        ("secret", c_uint64),
    ]


class Group(ctypes.Structure):
    _fields_ = [("first", c_uint16), ("second", c_uint16)]


class Server(ctypes.Structure):
    """Addresses are in network byte order, as bytes."""

    _fields_ = [
        ("flags", c_uint32),
        ("ifindex", c_uint32),
        ("ip4", c_uint8 * 4),
        ("mac", c_uint8 * 6),
        ("max_frame", c_uint16),
        ("ip6", c_uint8 * 16),
    ]


class Health(ctypes.Structure):
    _fields_ = [
        ("owing_since_ns", c_uint64),
        ("probed_ns", c_uint64),
        ("owed", c_uint32),
        ("passed_over_for", c_uint32),
        ("passed_over_since_ns", c_uint64),
    ]


class Host(ctypes.Structure):
    """What a host knows of itself; all 0: not known. Addresses are bytes in network order."""

    _fields_ = [
        ("mac", c_uint8 * 6),
        ("reserved", c_uint16),
        ("ip4", c_uint8 * 4 * MAX_ADDRESSES),
        ("ip6", c_uint8 * 16 * MAX_ADDRESSES),
    ]


class ServerConfig(ctypes.Structure):
    _fields_ = [
        ("ports", Ports),
        ("sid", c_uint32),
        ("workers", c_uint32),
        ("state_source", c_uint32),
        ("slice_shift", c_uint32),
        ("slices", c_uint32),
        ("n_filter_tables", c_uint32),
        ("flags", c_uint32),
        ("host", Host),
    ]


class Slices(ctypes.Structure):
    _fields_ = [("slice", c_uint64 * INFLIGHT_SLICES)]

    def in_flight(self) -> int:
        """Requests in flight in all slices (the low half of each), including forgotten ones: an
        expired slice keeps its count until its place is reused."""
        return sum(value & 0xFFFFFFFF for value in self.slice)

    def alive(self, config: ServerConfig, now_ns: int) -> int:
        """Requests in flight as the program counts them at `now_ns` of the monotonic clock."""
        now = now_ns >> config.slice_shift
        return sum(
            value & 0xFFFFFFFF
            for value in self.slice
            if (now - (value >> 32)) & 0xFFFFFFFF < config.slices
        )


class Reserve(ctypes.Structure):
    """Moving averages in 1/65536: busy workers, and originals' share of the requests."""

    _fields_ = [("busy", c_uint32), ("originals", c_uint32)]


class ClientConfig(ctypes.Structure):
    _fields_ = [
        ("ports", Ports),
        ("n_groups", c_uint32),
        ("n_filter_tables", c_uint32),
        ("flags", c_uint32),
        ("duplicate_window_ns", c_uint64),
        ("secret", c_uint64),
        ("host", Host),
        ("switch_id", c_uint16),
        ("reserved", c_uint16),
        ("reserved2", c_uint32),
    ]


# The map that has values of a kind.
MAP_OF: dict[type[ctypes.Structure], MapName] = {
    SwitchConfig: MapName.SWITCH_CONFIG,
    Group: MapName.GROUPS,
    Server: MapName.SERVERS,
    Health: MapName.HEALTH,
    ServerConfig: MapName.SERVER_CONFIG,
    Slices: MapName.SLICES,
    Reserve: MapName.RESERVE,
    ClientConfig: MapName.CLIENT_CONFIG,
}
# C name -> mirror, for the test that compares them.
STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "nc_ports": Ports,
    "nc_switch_config": SwitchConfig,
    "nc_group": Group,
    "nc_server": Server,
    "nc_health": Health,
    "nc_server_config": ServerConfig,
    "nc_slices": Slices,
    "nc_reserve": Reserve,
    "nc_client_config": ClientConfig,
    "nc_host": Host,
}
CONSTANTS: dict[str, int] = {
    "NC_MAX_SERVERS": MAX_SERVERS,
    "NC_MAX_GROUPS": MAX_GROUPS,
    "NC_DEFAULT_SERVERS": DEFAULT_SERVERS,
    "NC_MAX_PORTS": MAX_PORTS,
    "NC_MAX_FILTER_TABLES": MAX_FILTER_TABLES,
    "NC_DEFAULT_FILTER_TABLES": DEFAULT_FILTER_TABLES,
    "NC_FILTER_SLOTS_LOG2": FILTER_SLOTS_LOG2,
    "NC_REQUEST_SLOTS_LOG2": REQUEST_SLOTS_LOG2,
    "NC_FDB_SLOTS_LOG2": FDB_SLOTS_LOG2,
    "NC_INFLIGHT_SLOTS_LOG2": INFLIGHT_SLOTS_LOG2,
    "NC_INFLIGHT_SLICES": INFLIGHT_SLICES,
    "NC_ANSWERED_SLOTS_LOG2": ANSWERED_SLOTS_LOG2,
    "NC_DEFAULT_PORT_ENTRIES": DEFAULT_PORT_ENTRIES,
    "NC_MAX_ADDRESSES": MAX_ADDRESSES,
    "NC_FDB_FIXED": FDB_FIXED,
    "NC_PORT_CLIENT": PORT_CLIENT,
    "NC_SWITCH_RACKSCHED": SwitchFlag.RACKSCHED,
    "NC_SWITCH_GENERIC": SwitchFlag.GENERIC,
    "NC_SWITCH_NO_CLONES": SwitchFlag.NO_CLONES,
    "NC_SWITCH_RESERVE": SwitchFlag.RESERVE,
    "NC_SERVER_VALID": ServerFlag.VALID,
    "NC_HOST_XSK": HostFlag.XSK,
    "NC_HOST_RESERVE": HostFlag.RESERVE,
    "NC_HOST_SWITCH_ID": HostFlag.SWITCH_ID,
    "NC_STATE_INFLIGHT": StateSource.INFLIGHT,
    "NC_STATE_APP": StateSource.APP,
}
