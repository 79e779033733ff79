# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Entries of a plan for the XDP switch <-> the contents of its maps.

A plan (`entries`) has text and numbers; maps hold structures (`attach.tables`).
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address

from netclone_host.attach import tables
from netclone_host.attach.settings import ServerEntry, mac_bytes
from netclone_host.control.entries import Action, Fields, Key
from netclone_host.topology import PortName


def of_table(entries: Mapping[Key, Action], table: str) -> dict[Key, Action]:
    """The entries of one table."""
    return {key: action for key, action in entries.items() if key.table == table}


def number(key: Key) -> int:
    """Index of the entry: the number that it matches."""
    return int(key.match[0][1])


def port_of(fields: Fields) -> PortName:
    """The port that is matched, or that an action sends to."""
    return dict(fields)["port"]


def server_entry(fields: Fields) -> ServerEntry:
    """The inverse of `plan.server_fields`."""
    values = dict(fields)
    return ServerEntry(
        mac_bytes(str(values["mac"])),
        IPv4Address(values["ip4"]) if "ip4" in values else None,
        IPv6Address(values["ip6"]) if "ip6" in values else None,
        values["port"],
    )


def config_fields(config: tables.SwitchConfig) -> Fields:
    """In the words of `plan`; the inverse of `config_value`."""
    ports = config.ports.port[: config.ports.count]
    return (
        ("ports", " ".join(map(str, ports))),
        ("racksched", int(bool(config.flags & tables.SwitchFlag.RACKSCHED))),
        ("cloning", int(not config.flags & tables.SwitchFlag.NO_CLONES)),
        ("reserve", int(bool(config.flags & tables.SwitchFlag.RESERVE))),
        ("n_groups", config.n_groups),
        ("n_filter_tables", config.n_filter_tables),
        ("filter_mask", config.filter_mask),
        ("switch_id", config.switch_id),
        ("server_timeout_ns", config.server_timeout_ns),
        ("state_timeout_ns", config.state_timeout_ns),
        ("clone_share", config.clone_share),
        ("held", int(bool(config.flags & tables.SwitchFlag.HOLD))),
    )


def config_value(fields: Fields, before: tables.SwitchConfig) -> tables.SwitchConfig:
    """`before`: what is there, of which the mode, the secret and the ports' longest frame are the
    attachment's, and no topology's. HOLD is never written: with a whole
    configuration the groups agree with their devmaps."""
    values = dict(fields)
    flags = tables.SwitchFlag.of(
        racksched=bool(values["racksched"]),
        cloning=bool(values["cloning"]),
        reserve=bool(values["reserve"]),
        generic=bool(before.flags & tables.SwitchFlag.GENERIC),
    )
    names = (
        *("n_groups", "n_filter_tables", "filter_mask", "switch_id"),
        *("server_timeout_ns", "state_timeout_ns", "clone_share"),
    )
    return tables.SwitchConfig(
        ports=tables.Ports.of(tuple(int(port) for port in str(values["ports"]).split())),
        flags=flags,
        secret=before.secret,
        longest_frame=before.longest_frame,
        **{name: int(values[name]) for name in names},
    )
