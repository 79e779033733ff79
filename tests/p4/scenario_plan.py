# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A scenario of the conformance corpus as entries of the P4 programs' tables."""

from __future__ import annotations

from typing import Any

from netclone_host.control.entries import Action, Key, Plan, Replica
from netclone_host.control.p4.plan import (
    MULTICAST_FLOOD,
    MULTICAST_OF_SERVER,
    REPLICA_CLONE,
    Target,
    fdb_slot,
    fdb_word,
)
from tests.conformance.scenario import Scenario
from tests.p4 import p4_text
from tests.p4.p4_text import P4

LINUX = 0
"""The corpus's port for frames that the data plane passes on."""
FILTER_TABLES = 16
SLOTS_LOG2 = 17
SLOT_MASK = (1 << SLOTS_LOG2) - 1

REASONS = {
    name.removeprefix("NC_CTR_"): value
    for name, value in p4_text.constants(p4_text.text(P4 / "shared" / "counters.p4")).items()
    if name.startswith("NC_CTR_")
}


def hook(name: str) -> str:
    """A counter as the corpus names it."""
    return f"{'clone' if name in ('clone_sent', 'clone_lost') else 'ingress'}.{name}"


def slot_of(fingerprint: int) -> int:
    """Slot of a fingerprint in a filter table (docs/data-plane.md, "Words")."""
    client_id, pkt_index = fingerprint >> 32 & 0xFFFF, fingerprint >> 48 & 0xFF
    return (fingerprint ^ pkt_index << 7 ^ client_id << 11 ^ client_id >> 6) & SLOT_MASK


def plan_of(scenario: Scenario, target: Target) -> Plan:
    """The scenario's tables as entries; servers may be missing or have no port there."""
    config, servers = scenario.config, scenario.before["servers"]
    entries: dict[Key, Action] = {
        Key("SwitchIngress.settings"): Action(
            "configure",
            (
                ("racksched", int(config["racksched"] or not config.get("cloning", True))),
                ("cloning", int(config.get("cloning", True))),
                *(() if target.fixed_filter_slots else (("filter_slot_mask", SLOT_MASK),)),
            ),
        ),
        Key("SwitchIngress.hosts.hosts"): Action("flood"),
    }
    for port in config["ports"]:
        _set(entries, "destination_ports", {"destination_port": port}, "to_netclone")
        _set(entries, "source_ports", {"source_port": port}, "from_netclone")
    for idx in range(config["filter_tables"]):
        _set(entries, "filter_tables", {"idx": idx}, "filter_exists")
    for switch_id in {0, config["switch_id"]}:
        own = {"own_id": config["switch_id"]}
        _set(entries, "switch_ids", {"switch_id": switch_id}, "claimed", own)
    for grp, (first, second) in scenario.before["groups"].items():
        if int(grp) <= config["n_groups"]:
            usable = {
                f"usable_v{v}": _usable(servers, first, v) << 1 | _usable(servers, second, v)
                for v in "46"
            }
            candidates = {"first": first, "second": second, **usable}
            _set(entries, "groups", {"grp": int(grp)}, "candidates", candidates)
    multicast = {MULTICAST_FLOOD: (Replica(LINUX),)}
    for sid, server in servers.items():
        _add_server(entries, int(sid), server)
        if server["port"]:
            multicast[MULTICAST_OF_SERVER | int(sid)] = (
                Replica(server["port"]),
                Replica(target.clone_port, REPLICA_CLONE),
            )
    for mac, port in scenario.before["fdb"].items() if target.has_forwarding_cache else ():
        entries[Key("fdb", (("index", fdb_slot(mac)),))] = Action(
            "write", (("value", fdb_word(mac, port)),)
        )
    return Plan(entries, multicast)


def _add_server(entries: dict[Key, Action], sid: int, server: dict[str, Any]) -> None:
    for version in "46":
        address = server[f"ip{version}"]
        if address is None:
            continue
        match = {"sid": sid, "src_addr": address}
        _set(entries, f"sources_v{version}", match, "source_is_server")
        if server["port"]:
            key = Key(f"SwitchIngress.address.addresses_v{version}", (("chosen", sid),))
            params = (("address", address), ("mac", server["mac"]), ("port", server["port"]))
            entries[key] = Action(f"to_ipv{version}", params)


def _set(
    entries: dict[Key, Action],
    table: str,
    match: dict[str, Any],
    action: str,
    params: dict[str, Any] | None = None,
) -> None:
    key = Key(f"SwitchIngress.operands.{table}", tuple(match.items()))
    entries[key] = Action(action, tuple((params or {}).items()))


def _usable(servers: dict[str, Any], sid: int, version: str) -> int:
    server = servers.get(str(sid))
    return int(bool(server and server["port"] and server[f"ip{version}"]))
