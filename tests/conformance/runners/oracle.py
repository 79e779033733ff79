# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The oracle as a target: builds a node of netclone_host.model from a scenario's tables."""

from __future__ import annotations

import socket
from collections import Counter
from typing import Any

from netclone_host import model
from tests.conformance.playing import Seen
from tests.conformance.runners.tables import (
    MS,
    SLICES,
    filter_slots,
    inflight_slot,
    slice_shift_of,
)
from tests.conformance.scenario import Scenario, Step, Tables

START_NS = 1_000_000_000_000
"""The clock does not start at 0: a time of 0 means never in some tables."""


def mac_bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def mac_number(text: str) -> int:
    return int.from_bytes(mac_bytes(text), "big")


def mac_text(value: int) -> str:
    return value.to_bytes(6, "big").hex(":")


class Oracle:
    def start(self, scenario: Scenario) -> None:
        config, tables = scenario.config, scenario.before
        build = {"switch": build_switch, "server": build_server, "client": build_client}
        self.node: Any = build[scenario.role](config, tables)
        self.role = scenario.role
        self.now_ns = START_NS

    def feed(self, step: Step) -> Seen:
        self.now_ns = START_NS + step.at_ms * MS
        if self.role == "switch":
            outcome = self.node.receive(step.port, step.frame, self.now_ns)
        else:
            outcome = self.node.receive(step.port, step.frame, self.now_ns, step.offloaded)
        counters = Counter(f"{hook}.{name}" for hook, name in outcome.counters)
        return Seen(outcome.frames, dict(counters))

    def tables(self) -> Tables:
        read = {"switch": read_switch, "server": read_server, "client": read_client}
        return read[self.role](self.node, self.now_ns)


def build_switch(config: dict[str, Any], tables: Tables) -> model.Switch:
    switch = model.Switch(
        ports=tuple(config["ports"]),
        n_groups=config["n_groups"],
        n_filter_tables=config["filter_tables"],
        filter_slots_log2=filter_slots(config).bit_length() - 1,
        racksched=config["racksched"],
        generic=config["generic"],
        switch_id=config["switch_id"],
        server_timeout_ns=config["server_timeout_ms"] * MS,
        state_timeout_ns=config.get("state_timeout_ms", 0) * MS,
        clone_share_max=config.get("clone_share_max", 0),
        secret=config.get("secret", 0),
        cloning=config.get("cloning", True),
        reserve=config.get("reserve", False),
        hold=config.get("hold", False),
        groups={int(grp): (pair[0], pair[1]) for grp, pair in tables["groups"].items()},
        servers={int(sid): build_address(entry) for sid, entry in tables["servers"].items()},
        state={int(sid): queue for sid, queue in tables["state"].items()},
        filter={(idx, slot): int(word, 16) for idx, slot, word in tables["filter"]},
        requests=model.ClonedRequestTable(
            {slot: int(word, 16) for slot, word in tables["requests"]}
        ),
        attempts=model.Attempts(dict(tables.get("attempts", []))),
        sequence=tables["sequence"],
        client_ports=frozenset(config.get("client_ports", [])),
    )
    switch.cache.fixed = {mac_number(mac) for mac in config.get("fixed", [])}
    for mac, port in tables["fdb"].items():
        switch.cache.add(mac_number(mac), port)
    return switch


def build_address(entry: dict[str, Any]) -> model.Address:
    ip4, ip6 = entry["ip4"], entry["ip6"]
    return model.Address(
        port=entry["port"],
        mac=mac_bytes(entry["mac"]),
        ip4=socket.inet_pton(socket.AF_INET, ip4) if ip4 else None,
        ip6=socket.inet_pton(socket.AF_INET6, ip6) if ip6 else None,
        max_frame=entry.get("max_frame"),
    )


def build_host(config: dict[str, Any]) -> model.Host:
    """`mac` and `addresses`, where the scenario lets the host know them."""
    families = {False: socket.AF_INET, True: socket.AF_INET6}
    return model.Host(
        mac_number(config["mac"]) if "mac" in config else 0,
        frozenset(socket.inet_pton(families[":" in a], a) for a in config.get("addresses", [])),
    )


def build_server(config: dict[str, Any], tables: Tables) -> model.Server:
    return model.Server(
        sid=config["sid"],
        workers=config["workers"],
        ports=tuple(config["ports"]),
        n_filter_tables=config["filter_tables"],
        host=build_host(config),
        slice_ns=1 << slice_shift_of(config["request_timeout_ms"]),
        slices=SLICES,
        reserve=config.get("reserve", False),
        slot_of=inflight_slot,
        app_queue_length=(tables["app_queue_length"] if config["state_source"] == "app" else None),
        averages=model.Averages(**tables.get("averages", {})),
    )


def build_client(config: dict[str, Any], tables: Tables) -> model.Client:
    return model.Client(
        n_groups=config["n_groups"],
        n_filter_tables=config["filter_tables"],
        ports=tuple(config["ports"]),
        duplicate_window_ns=config["duplicate_window_ms"] * MS,
        host=build_host(config),
        switch_id=config.get("switch_id"),
        secret=config.get("secret", 0),
    )


def read_switch(switch: model.Switch, now_ns: int) -> Tables:
    return {
        "groups": {str(grp): list(pair) for grp, pair in switch.groups.items()},
        "servers": {str(sid): read_address(server) for sid, server in switch.servers.items()},
        "fdb": {mac_text(mac): port for mac, port in switch.cache.ports_of_macs()},
        "state": {str(sid): queue for sid, queue in switch.state.items()},
        "sequence": switch.sequence,
        "filter": [[idx, slot, hex(word)] for (idx, slot), word in switch.filter.items()],
        "requests": [[slot, hex(word)] for slot, word in switch.requests.entries.items()],
        "attempts": [[slot, count] for slot, count in switch.attempts.counts.items()],
        "owed": {str(sid): owed for sid, owed in switch.health.owed()},
    }


def read_address(server: model.Address) -> dict[str, Any]:
    known = {} if server.max_frame is None else {"max_frame": server.max_frame}
    return {
        **known,
        "port": server.port,
        "mac": server.mac.hex(":"),
        "ip4": socket.inet_ntop(socket.AF_INET, server.ip4) if server.ip4 else None,
        "ip6": socket.inet_ntop(socket.AF_INET6, server.ip6) if server.ip6 else None,
    }


def read_server(server: model.Server, now_ns: int) -> Tables:
    now = now_ns // server.slice_ns
    return {
        "in_flight": server.count_in_flight(now),
        "app_queue_length": server.app_queue_length or 0,
        "averages": {"busy": server.averages.busy, "originals": server.averages.originals},
    }


def read_client(client: model.Client, now_ns: int) -> Tables:
    return {
        "answered": [
            [slot, hex(model.answered_key(fingerprint))]
            for slot, (fingerprint, _) in client.answered.items()
            if fingerprint
        ]
    }
