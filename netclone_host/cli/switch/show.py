# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host switch show``."""

from __future__ import annotations

import json
import time
from typing import Any

import click
from rich.console import Console
from rich.table import Column, Table

from netclone_host.attach.tables import FILTER_SLOTS_LOG2
from netclone_host.cli.console import console
from netclone_host.cli.switch.target import inside, opened_switches, target_of, target_options
from netclone_host.control.xdp import memory, notices
from netclone_host.control.xdp.live import LiveSwitch
from netclone_host.control.xdp.notices import Notices
from netclone_host.topology import DEFAULT_CAPACITY, MAX_SERVERS

_MIB = 1 << 20
_FEW_GROUPS = 42
"""Those of seven servers are shown without --groups."""
_GROUPS_A_LINE = 6


@click.command()
@target_options
@click.option("--groups", "with_groups", is_flag=True, help="List every group, however many.")
@click.option("--memory", "with_memory", is_flag=True, help="Show the memory of the tables.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a switch.")
def show(
    rack: str | None, port: str | None, with_groups: bool, with_memory: bool, as_json: bool
) -> None:
    """Show groups, addresses, states, unanswered requests and filter tables of a switch."""
    with opened_switches(target_of(rack, port)) as switches:
        for namespace, switch in switches:
            with inside(namespace):
                noticed = notices.of(switch)
                record = describe(switch, noticed)
                if with_memory:
                    record["memory"] = describe_memory(switch)
            if as_json:
                click.echo(json.dumps(record))
            else:
                _print(record, noticed.sentences(), with_groups)


def describe(switch: LiveSwitch, noticed: Notices) -> dict[str, Any]:
    """All that the tables hold, as plain data."""
    tables = switch.tables()
    now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    timed = tables.server_timeout_ns > 0
    servers = []
    for sid, entry in sorted(tables.servers.items()):
        health = switch.health(sid)
        silent_ns = now_ns - health.owing_since_ns if health.owing_since_ns else 0
        servers.append(
            {
                "id": sid,
                "ip4": str(entry.ip4) if entry.ip4 else None,
                "ip6": str(entry.ip6) if entry.ip6 else None,
                "mac": entry.mac.hex(":"),
                "port": entry.port,
                "state": switch.queue_length(sid),
                "owed": health.owed if timed else None,
                "failed": timed and silent_ns > tables.server_timeout_ns,
            }
        )
    slots = tables.filter_slots
    return {
        "ports": switch.ports(),
        "mode": switch.attachment.mode,
        "switch_id": tables.switch_id,
        "netclone_ports": list(tables.ports),
        "racksched": tables.racksched,
        "cloning_held": noticed.cloning_held,
        "unfinished": noticed.unfinished,
        "server_timeout_ms": tables.server_timeout_ns // 1_000_000,
        "capacity": tables.capacity,
        "servers": servers,
        "groups": {str(grp): list(pair) for grp, pair in tables.groups.items()},
        "filter_tables": [{"slots": slots, "used": used} for used in switch.occupancy()],
    }


def describe_memory(switch: LiveSwitch) -> dict[str, Any]:
    """Bytes of this switch as the kernel counts them, and of two sizes by their tables."""
    plain = memory.tables_memory(DEFAULT_CAPACITY, 2, 1 << FILTER_SLOTS_LOG2)
    largest = memory.tables_memory(MAX_SERVERS, 2, 1 << FILTER_SLOTS_LOG2)
    counted = memory.counted_by_kernel(switch.attachment)
    return {
        "this_switch_kernel_bytes": counted,
        "this_switch_bytes": sum(counted.values()),
        f"default_{DEFAULT_CAPACITY}_servers": {t.name: t.n_bytes for t in plain},
        f"default_{DEFAULT_CAPACITY}_servers_bytes": memory.total(plain),
        f"largest_{MAX_SERVERS}_servers": {t.name: t.n_bytes for t in largest},
        f"largest_{MAX_SERVERS}_servers_bytes": memory.total(largest),
    }


def _print(record: dict[str, Any], sentences: list[str], with_groups: bool) -> None:
    out = console()
    timeout = record["server_timeout_ms"]
    out.print(
        f"switch {record['switch_id']} on {' '.join(record['ports'])} ({record['mode']}), "
        f"RackSched {'on' if record['racksched'] else 'off'}, "
        f"server timeout {f'{timeout} ms' if timeout else 'off'}"
    )
    for sentence in sentences:
        out.print(sentence)
    table = Table("id", "IPv4", "IPv6", "MAC", "port", box=None, title="servers")
    for column in ("state", "owed"):
        table.add_column(column, justify="right")
    table.add_column("")
    for server in record["servers"]:
        owed = "-" if server["owed"] is None else str(server["owed"])
        table.add_row(
            str(server["id"]),
            server["ip4"] or "-",
            server["ip6"] or "-",
            server["mac"],
            str(server["port"]),
            str(server["state"]),
            owed,
            "failed" if server["failed"] else "",
        )
    out.print(table)
    out.print(f"{len(record['groups'])} groups, room for {record['capacity']} servers")
    pairs = [f"{grp}: {first}, {second}" for grp, (first, second) in record["groups"].items()]
    if with_groups or len(pairs) <= _FEW_GROUPS:
        for start in range(0, len(pairs), _GROUPS_A_LINE):
            line = pairs[start : start + _GROUPS_A_LINE]
            out.print("  " + "".join(pair.ljust(16) for pair in line).rstrip())
    for index, entry in enumerate(record["filter_tables"]):
        share = 100 * entry["used"] / entry["slots"]
        used = f"{entry['used']} of {entry['slots']} slots"
        out.print(f"filter table {index}: {used}, {share:.1f} %")
    if "memory" in record:
        _print_memory(out, record["memory"])


def _print_memory(out: Console, sizes: dict[str, Any]) -> None:
    plain, largest = (f"default_{DEFAULT_CAPACITY}_servers", f"largest_{MAX_SERVERS}_servers")
    table = Table(Column("table", no_wrap=True), box=None, title="memory, bytes")
    for column in ("this switch (kernel)", f"{DEFAULT_CAPACITY} servers", f"{MAX_SERVERS} servers"):
        table.add_column(column, justify="right")
    for name in sizes[plain]:
        table.add_row(
            name,
            f"{sizes['this_switch_kernel_bytes'][name]:,}",
            f"{sizes[plain][name]:,}",
            f"{sizes[largest][name]:,}",
        )
    table.add_row(
        "all",
        f"{sizes['this_switch_bytes']:,} ({sizes['this_switch_bytes'] / _MIB:.1f} MiB)",
        f"{sizes[f'{plain}_bytes']:,} ({sizes[f'{plain}_bytes'] / _MIB:.1f} MiB)",
        f"{sizes[f'{largest}_bytes']:,} ({sizes[f'{largest}_bytes'] / _MIB:.1f} MiB)",
    )
    out.print(table)
