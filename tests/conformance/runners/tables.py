# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Between the tables of the corpus and those of tables.h: configurations, words, slots.

Ports of the corpus are small numbers; `port_of` and `number_of` of a target say which
interface index each of them is (the native library's are the numbers themselves).
"""

from __future__ import annotations

import functools
import ipaddress
import operator
from collections.abc import Callable
from typing import Any

from netclone_host.attach import tables as abi
from netclone_host.model.server import Identity
from tests.conformance.scenario import Scenario, Tables

MS = 1_000_000
SLICES = abi.INFLIGHT_SLICES - 1
DEFAULT_FILTER_SLOTS = 1 << abi.FILTER_SLOTS_LOG2

PortOf = Callable[[int], int]


def slice_shift_of(request_timeout_ms: int) -> int:
    """The longest power of two of ns that is at most an eighth of the timeout."""
    return (request_timeout_ms * MS // 8).bit_length() - 1


def filter_slots(config: dict[str, Any]) -> int:
    """Slots of each filter table."""
    return int(config.get("filter_slots", DEFAULT_FILTER_SLOTS))


def switch_config(config: dict[str, Any], tables: Tables) -> abi.SwitchConfig:
    flags = abi.SwitchFlag.RACKSCHED if config["racksched"] else 0
    flags |= abi.SwitchFlag.GENERIC if config["generic"] else 0
    flags |= abi.SwitchFlag.RESERVE if config.get("reserve") else 0
    flags |= abi.SwitchFlag.HOLD if config.get("hold") else 0
    flags |= 0 if config.get("cloning", True) else abi.SwitchFlag.NO_CLONES
    return abi.SwitchConfig(
        ports=abi.Ports.of(tuple(config["ports"])),
        flags=flags,
        n_groups=config["n_groups"],
        n_filter_tables=config["filter_tables"],
        filter_mask=filter_slots(config) - 1,
        switch_id=config["switch_id"],
        clone_share=config.get("clone_share_max", 0),
        longest_frame=min(
            (entry["max_frame"] for entry in tables["servers"].values() if "max_frame" in entry),
            default=0,
        ),
        server_timeout_ns=config["server_timeout_ms"] * MS,
        state_timeout_ns=config.get("state_timeout_ms", 0) * MS,
        secret=config.get("secret", 0),
    )


def config_of(scenario: Scenario) -> abi.SwitchConfig | abi.ServerConfig | abi.ClientConfig:
    """Of the scenario's role."""
    if scenario.role == "switch":
        return switch_config(scenario.config, scenario.before)
    if scenario.role == "server":
        return server_config(scenario.config)
    return client_config(scenario.config)


def server_config(config: dict[str, Any]) -> abi.ServerConfig:
    app = config["state_source"] == "app"
    return abi.ServerConfig(
        ports=abi.Ports.of(tuple(config["ports"])),
        sid=config["sid"],
        workers=config["workers"],
        state_source=abi.StateSource.APP if app else abi.StateSource.INFLIGHT,
        slice_shift=slice_shift_of(config["request_timeout_ms"]),
        slices=SLICES,
        n_filter_tables=config["filter_tables"],
        flags=abi.HostFlag.RESERVE if config.get("reserve") else 0,
        host=host(config),
    )


def client_config(config: dict[str, Any]) -> abi.ClientConfig:
    return abi.ClientConfig(
        ports=abi.Ports.of(tuple(config["ports"])),
        n_groups=config["n_groups"],
        n_filter_tables=config["filter_tables"],
        duplicate_window_ns=config["duplicate_window_ms"] * MS,
        flags=abi.HostFlag.SWITCH_ID if "switch_id" in config else 0,
        switch_id=config.get("switch_id", 0),
        secret=config.get("secret", 0),
        host=host(config),
    )


def host(config: dict[str, Any]) -> abi.Host:
    """What the scenario lets a host know of itself."""
    value = abi.Host()
    if "mac" in config:
        value.mac = tuple(bytes.fromhex(config["mac"].replace(":", "")))
    for version, field in ((4, value.ip4), (6, value.ip6)):
        known = [ipaddress.ip_address(text) for text in config.get("addresses", [])]
        for place, address in enumerate(one for one in known if one.version == version):
            field[place] = (type(field[place]))(*address.packed)
    return value


def mac_number(text: str) -> int:
    return int(text.replace(":", ""), 16)


def fdb_slot(mac: int) -> int:
    return (mac ^ mac >> 12 ^ mac >> 24) % (1 << abi.FDB_SLOTS_LOG2)


def address(entry: dict[str, Any], port_of: PortOf) -> abi.Server:
    """An entry of nc_servers."""
    ip4, ip6 = entry["ip4"] or "0.0.0.0", entry["ip6"] or "::"
    return abi.Server(
        flags=abi.ServerFlag.VALID,
        ifindex=port_of(entry["port"]) if entry["port"] else 0,
        ip4=tuple(ipaddress.IPv4Address(ip4).packed),
        mac=tuple(bytes.fromhex(entry["mac"].replace(":", ""))),
        max_frame=entry.get("max_frame", 0),
        ip6=tuple(ipaddress.IPv6Address(ip6).packed),
    )


def address_entry(server: abi.Server, number_of: PortOf) -> dict[str, Any]:
    ip4, ip6 = ipaddress.IPv4Address(bytes(server.ip4)), ipaddress.IPv6Address(bytes(server.ip6))
    known = {"max_frame": server.max_frame} if server.max_frame else {}
    return {
        **known,
        "port": number_of(server.ifindex) if server.ifindex else 0,
        "mac": bytes(server.mac).hex(":"),
        "ip4": str(ip4) if int(ip4) else None,
        "ip6": str(ip6) if int(ip6) else None,
    }


def filter_words(tables: Tables, slots: int) -> dict[int, int]:
    """index -> word of nc_filter."""
    return {idx * slots + slot: int(word, 16) for idx, slot, word in tables["filter"]}


def averages(tables: Tables) -> abi.Reserve:
    """nc_reserve of a server."""
    return abi.Reserve(**tables.get("averages", {}))


def averages_entry(reserve: abi.Reserve) -> dict[str, int]:
    return {"busy": reserve.busy, "originals": reserve.originals}


def fdb_words(tables: Tables, config: dict[str, Any], port_of: PortOf) -> dict[int, int]:
    """slot -> word of nc_fdb."""
    fixed = config.get("fixed", [])
    return {
        fdb_slot(mac_number(mac)): mac_number(mac) << 16
        | port_of(port)
        | (abi.FDB_FIXED if mac in fixed else 0)
        for mac, port in tables["fdb"].items()
    }


def port_roles(config: dict[str, Any], port_of: PortOf) -> dict[int, int]:
    """ifindex -> word of nc_port_roles."""
    return {port_of(port): abi.PORT_CLIENT for port in config.get("client_ports", [])}


ANSWERED_TIME_BITS, ANSWERED_TICK_SHIFT = 28, 22


def answered_word(key: int, now_ns: int) -> int:
    """A word of nc_answered."""
    ticks = (now_ns >> ANSWERED_TICK_SHIFT) % (1 << ANSWERED_TIME_BITS)
    return key << ANSWERED_TIME_BITS | ticks


def fdb_entry(word: int, number_of: PortOf) -> tuple[str, int]:
    mac = (word & ~abi.FDB_FIXED) >> 16
    return mac.to_bytes(6, "big").hex(":"), number_of(word & 0xFFFF)


def live_in_flight(slices: abi.Slices, config: abi.ServerConfig, now_ns: int) -> int:
    """Requests of slices that are not over yet: a slot holds slice << 32 | count."""
    now = (now_ns >> config.slice_shift) & 0xFFFFFFFF
    return sum(
        word & 0xFFFFFFFF
        for word in slices.slice
        if (now - (word >> 32)) & 0xFFFFFFFF < config.slices
    )


def inflight_slot(request: Identity) -> int:
    """Slot of a request in nc_inflight (inflight.h), of fields as they lie in memory."""
    client, port_number, req_id, client_id = request
    words = [int.from_bytes(client[at : at + 4], "little") for at in range(0, len(client), 4)]
    ip, port = functools.reduce(operator.xor, words), _swapped(port_number, 2)
    if client_id is None and req_id:
        offset = (ip + (port << 13)) * 0x9E3779B1 % (1 << 32) >> 16
        return (req_id + offset) % (1 << abi.INFLIGHT_SLOTS_LOG2)
    key = (ip << 32 | _swapped(req_id, 4)) + port * 0xBF58476D1CE4E5B9
    if client_id is not None:
        key += (_swapped(client_id, 2) + 1) * 0x94D049BB133111EB
    return (_mixed(key) >> 16) % (1 << abi.INFLIGHT_SLOTS_LOG2)


def _swapped(value: int, size: int) -> int:
    return int.from_bytes(value.to_bytes(size, "big"), "little")


def _mixed(x: int) -> int:
    """nc_mix of fingerprint.h."""
    x = x * 0x9E3779B97F4A7C15 % (1 << 64)
    x ^= x >> 32
    x = x * 0xD6E8FEB86659FD93 % (1 << 64)
    return x ^ x >> 29
