# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host stats``."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import click
from rich.live import Live
from rich.table import Column, Table

from netclone_host import counters
from netclone_host.attach import recovery, status
from netclone_host.attach.journal import Attachment
from netclone_host.attach.roles import Role
from netclone_host.cli.console import console
from netclone_host.kernel import netns

_INTERVAL_S = 1.0


@click.command()
@click.argument("ifname", metavar="IFACE")
@click.option("--json", "as_json", is_flag=True, help="One record; with --watch one a second.")
@click.option("--watch", is_flag=True, help="Again every second, until interrupted.")
def stats(ifname: str, as_json: bool, watch: bool) -> None:
    """Show why packets went where they went: a counter for each reason, and their sum, the
    number of packets that the hook has seen."""
    attachment = status.attached_to(ifname)
    if not watch:
        _show(snapshot(attachment), as_json)
        return
    with contextlib.suppress(KeyboardInterrupt):
        _watch(attachment, as_json)


def snapshot(attachment: Attachment) -> dict[str, Any]:
    """All counters of an attachment, with in-flight requests or states, as its role has them."""
    hooks = {
        hook.label: {"packets": counters.total(table), "counters": table}
        for hook, table in status.read_counters(attachment).items()
    }
    record: dict[str, Any] = {
        "interfaces": recovery.names_now(attachment, netns.current()),
        "role": attachment.role,
        "mode": attachment.mode,
        "time_ns": time.time_ns(),
        "hooks": hooks,
    }
    if attachment.role == Role.SERVER:
        record["in_flight"] = status.read_in_flight(attachment)
    if attachment.role == Role.SWITCH:
        record["states"] = status.read_states(attachment)
    return record


def _show(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(record))
    else:
        console().print(_table(record, None))


def _watch(attachment: Attachment, as_json: bool) -> None:
    previous = snapshot(attachment)
    if as_json:
        while True:
            _show(previous, as_json)
            time.sleep(_INTERVAL_S)
            previous = snapshot(attachment)
    with Live(_table(previous, None), auto_refresh=False) as live:
        while True:
            time.sleep(_INTERVAL_S)
            record = snapshot(attachment)
            live.update(_table(record, previous), refresh=True)
            previous = record


def _table(record: dict[str, Any], previous: dict[str, Any] | None) -> Table:
    table = Table(
        "hook", Column("reason", no_wrap=True), box=None, title=" ".join(record["interfaces"])
    )
    table.add_column("packets", justify="right")
    if previous is not None:
        table.add_column("per second", justify="right")
    table.add_column("what")
    for hook, entry in record["hooks"].items():
        before = previous["hooks"][hook] if previous else None
        seconds = (record["time_ns"] - previous["time_ns"]) / 1e9 if previous else 1.0
        rows = [("packets", entry["packets"], "packets in = sum of the reasons")]
        rows += [
            (f"  {reason}", count, counters.descriptions()[reason])
            for reason, count in counters.nonzero(entry["counters"]).items()
        ]
        for reason, count, text in rows:
            was = before and (
                before["packets"] if reason == "packets" else before["counters"][reason.strip()]
            )
            rate = () if before is None else (f"{(count - was) / seconds:.0f}",)
            table.add_row(hook, reason, str(count), *rate, text)
    if "in_flight" in record:
        table.add_row("", "in flight", str(record["in_flight"]))
    for sid, length in record.get("states", {}).items():
        table.add_row("", f"state of server {sid}", str(length))
    return table
