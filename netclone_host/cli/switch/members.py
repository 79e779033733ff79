# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host switch add-server`` and ``remove-server``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from netclone_host import toml_values
from netclone_host import topology as topology_file
from netclone_host.attach.settings import ServerEntry, mac_bytes
from netclone_host.cli.switch.target import (
    Switches,
    Target,
    all_clients_know,
    changing_switches,
    inside,
    target_of,
    target_options,
    tell_clients,
)
from netclone_host.control.xdp.members import has_it_already
from netclone_host.errors import UserError
from netclone_host.rack.plan import TRUNK, Plan
from netclone_host.topology import MAX_SERVERS, PortName, Server

# Requests that clients stamped just before they were told may still be on their way.
_ON_THE_WAY_S = 0.05


def _sentence(target: Target, told: int, n_servers: int) -> str:
    groups = n_servers * (n_servers - 1)
    if target.client_namespaces:
        return f"{n_servers} servers, {groups} groups; {told} clients told"
    return (
        f"{n_servers} servers, {groups} groups; on each client: "
        f"netclone-host client set IFACE --servers {n_servers}"
    )


@click.command(name="remove-server")
@target_options
@click.argument("sid", metavar="ID", type=int)
def remove_server(rack: str | None, port: str | None, sid: int) -> None:
    """Take a server out of a running switch: it receives no more requests.

    The remaining servers form new groups, numbered from 1, so clients must know the smaller
    number; those of a rack are told here, before the switch.
    """
    target = target_of(rack, port)
    with changing_switches(target) as switches:
        # A command that was killed may have finished the first of two racks.
        left = [pair for pair in switches if sid in pair[1].tables().servers] or switches
        desired = []
        for namespace, switch in left:
            with inside(namespace):
                desired.append(switch.without_server(sid))
        n_servers = len(desired[0].servers)
        told = tell_clients(target, n_servers)
        if told:
            time.sleep(_ON_THE_WAY_S)
        for (namespace, switch), tables in zip(left, desired, strict=True):
            with inside(namespace):
                switch.apply(tables)
    click.echo(f"server {sid} removed: {_sentence(target, told, n_servers)}")


@click.command(name="add-server")
@target_options
@click.argument("sid", metavar="ID", type=int)
@click.option("--ip4", help="Its IPv4 address.")
@click.option("--ip6", help="Its IPv6 address.")
@click.option("--mac", help="Its MAC address.")
@click.option("--switch-port", help="The switch port that it sits behind.")
@click.option(
    "--topology", "path", type=click.Path(path_type=Path), help="Read all that from here."
)
def add_server(
    rack: str | None,
    port: str | None,
    sid: int,
    ip4: str | None,
    ip6: str | None,
    mac: str | None,
    switch_port: str | None,
    path: Path | None,
) -> None:
    """Let a running switch send requests to one more server.

    In a rack, the id is enough to bring back a server of its topology that was removed.
    """
    if not 0 <= sid < MAX_SERVERS:
        raise UserError(f"server id {sid} is out of range", hint=f"give 0 to {MAX_SERVERS - 1}")
    target = target_of(rack, port)
    given = _given(ip4, ip6, mac, switch_port)

    def entry_at(index: int) -> ServerEntry:
        if given is None:
            entry = _from_topology(target.plan, index, path, sid)
        else:
            entry = replace(given, port=_port_at(target.plan, index, given.port))
        _refuse_addresses_of_clients(target.plan, sid, entry)
        return entry

    with changing_switches(target) as switches:
        n_servers = _add(target, switches, sid, entry_at)
        told = tell_clients(target, n_servers)
    click.echo(f"server {sid} added: {_sentence(target, told, n_servers)}")


def _add(
    target: Target, switches: Switches, sid: int, entry_at: Callable[[int], ServerEntry]
) -> int:
    """Add the server to every switch, or to none if one of them refuses; returns the number of
    servers. What a command that was killed had done is not repeated."""
    entries = [entry_at(index) for index in range(len(switches))]
    ready = set()
    for index, (namespace, switch) in enumerate(switches):
        with inside(namespace):
            if switch.server(sid) == entries[index]:
                ready.add(index)
    if len(ready) == len(switches):
        n_servers = len(switches[0][1].tables().servers)
        if all_clients_know(target, n_servers):
            raise has_it_already(sid)
        return n_servers
    desired = {}
    for index, (namespace, switch) in enumerate(switches):
        if index not in ready:
            with inside(namespace):
                desired[index] = switch.with_server(sid, entries[index])
    for index, tables in desired.items():
        namespace, switch = switches[index]
        with inside(namespace):
            switch.apply(tables)
    return max(len(tables.servers) for tables in desired.values())


def _given(
    ip4: str | None, ip6: str | None, mac: str | None, switch_port: str | None
) -> ServerEntry | None:
    if (ip4, ip6, mac, switch_port) == (None, None, None, None):
        return None
    if mac is None or switch_port is None or (ip4 is None and ip6 is None):
        raise UserError(
            "a new server needs a MAC address, a port and an IP address",
            hint="give --mac, --switch-port, and --ip4 or --ip6 (or --topology FILE)",
        )
    given = {"ip4": ip4, "ip6": ip6, "mac": mac, "port": switch_port}
    read = toml_values.Reader(
        {key: value for key, value in given.items() if value is not None}, "the new server"
    )
    ip4_address, ip6_address = read.addresses()
    return ServerEntry(mac_bytes(read.mac("mac")), ip4_address, ip6_address, read.port("port"))


def _port_at(plan: Plan | None, index: int, port: PortName) -> PortName:
    """The port as a switch of the rack sees it: whatever sits behind another one is behind the
    trunk.

    UserError if, in a rack of several switches, not exactly one of them has the port."""
    if plan is None or len(plan.switches) == 1:
        return port
    ports = [node.ports(plan) for node in plan.switches]
    if sum(port in some for some in ports) != 1:
        own = (name for some in ports for name in some if name != TRUNK)
        raise UserError(
            f"{port} is not a port that one of the rack's switches has a host behind",
            hint=f"give --switch-port one of {', '.join(own)}",
        )
    return port if port in ports[index] else TRUNK


def _refuse_addresses_of_clients(plan: Plan | None, sid: int, entry: ServerEntry) -> None:
    """UserError if a rack's client would receive the requests; elsewhere no client is known."""
    for client in plan.clients if plan else []:
        theirs = {"ip4": client.ip4, "ip6": client.ip6, "mac": mac_bytes(client.mac)}
        for what, value in theirs.items():
            if value is not None and value == getattr(entry, what):
                raise UserError(
                    f"client {client.name} has the same {what} as the new server {sid}",
                    hint="every server needs addresses of its own",
                )


def _from_topology(plan: Plan | None, index: int, path: Path | None, sid: int) -> ServerEntry:
    """The entry from a topology file, or from the rack as this switch sees it."""
    if path is not None:
        return _entry(topology_file.load(path).server(sid))
    if plan is None:
        raise UserError(
            f"nothing is known of server {sid}",
            hint="give --mac, --switch-port, and --ip4 or --ip6, or --topology FILE",
        )
    return _entry(plan.switches[index].topology.server(sid))


def _entry(server: Server) -> ServerEntry:
    return ServerEntry(mac_bytes(server.mac), server.ip4, server.ip6, server.port)
