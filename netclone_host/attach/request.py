# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a user asks of attach, checked and turned into settings for the programs."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netclone_host.attach import filling
from netclone_host.attach.loaders.base import LoadedObject
from netclone_host.attach.roles import Role
from netclone_host.attach.settings import (
    ClientSettings,
    HostAddresses,
    ServerSettings,
    SwitchTables,
    switch_tables,
)
from netclone_host.attach.tables import (
    DEFAULT_FILTER_TABLES,
    MAX_PORTS,
    MAX_SERVERS,
    StateSource,
)
from netclone_host.durations import format_duration
from netclone_host.errors import UserError
from netclone_host.kernel.xdp import XdpMode
from netclone_host.topology import MAX_WORKERS, PortName, Topology, check_server_timeout
from netclone_host.wire import DEFAULT_PORT

DEFAULT_REQUEST_TIMEOUT_NS = 1_000_000_000
MIN_REQUEST_TIMEOUT_NS = 10_000_000  # the data plane's clock has a resolution of a few ms
MAX_REQUEST_TIMEOUT_NS = 3_600_000_000_000
DEFAULT_DUPLICATE_WINDOW_NS = 1_000_000_000


class Mode(enum.StrEnum):
    AUTO = "auto"
    NATIVE = "native"
    GENERIC = "generic"

    def to_try(self) -> tuple[XdpMode, ...]:
        if self is Mode.AUTO:
            return (XdpMode.NATIVE, XdpMode.GENERIC)
        return (XdpMode(self.value),)


@dataclass(frozen=True)
class AttachRequest:
    """The arguments of `netclone-host attach`. None means: from the topology, or the default if
    there is one."""

    ifnames: tuple[str, ...]
    role: Role
    server_id: int | None = None
    workers: int | None = None
    servers: int | None = None
    state: StateSource = StateSource.INFLIGHT
    ports: tuple[int, ...] | None = None
    mode: Mode = Mode.AUTO
    topology: Topology | None = None
    loader: str = "auto"
    force: bool = False
    request_timeout_ns: int = DEFAULT_REQUEST_TIMEOUT_NS
    server_timeout_ms: int | None = None
    duplicate_window_ns: int = DEFAULT_DUPLICATE_WINDOW_NS
    check_peers: bool = True
    """Refuse switch ports whose veth peer would lose redirected frames."""


@dataclass(frozen=True)
class Job:
    """A checked request: what to load, and how to fill the tables."""

    request: AttachRequest
    settings: ServerSettings | ClientSettings | SwitchTables

    def sizes(self, ifindices: Iterable[int]) -> dict[str, int]:
        """Map name -> max_entries, for the maps that depend on the topology and the ports."""
        if isinstance(self.settings, SwitchTables):
            return filling.switch_sizes(self.settings, ifindices)
        return {}

    def port_names(self) -> set[PortName]:
        """A switch's ports that servers sit behind."""
        if not isinstance(self.settings, SwitchTables):
            return set()
        return {server.port for server in self.settings.servers.values()}

    def fill(self, loaded: LoadedObject, ifindex_of: Mapping[str, int], mode: XdpMode) -> None:
        """Fill the tables for this mode."""
        match self.settings:
            case ServerSettings():
                filling.fill_server(loaded, self.settings, _known(ifindex_of))
            case ClientSettings():
                filling.fill_client(loaded, self.settings, _known(ifindex_of))
            case SwitchTables():
                ports: dict[PortName, int] = {name: index for name, index in ifindex_of.items()}
                generic = mode is XdpMode.GENERIC
                filling.fill_switch(
                    loaded, self.settings, ports, ifindex_of.values(), generic=generic
                )

    def summary(self) -> dict[str, Any]:
        """What `status` shows."""
        match self.settings:
            case ServerSettings() as server:
                return {
                    "server_id": server.sid,
                    "workers": server.workers,
                    "state": server.state.name.lower(),
                    "ports": list(server.ports),
                    "request_timeout_ns": server.request_timeout_ns,
                }
            case ClientSettings() as client:
                return {"servers": client.n_servers, "ports": list(client.ports)}
            case SwitchTables() as switch:
                return {
                    "switch_id": switch.switch_id,
                    "servers": len(switch.servers),
                    "groups": switch.n_groups,
                    "filter_tables": switch.filter_tables,
                    "filter_slots": switch.filter_slots,
                    "racksched": switch.racksched,
                    "ports": list(switch.ports),
                }


def _known(ifindex_of: Mapping[str, int]) -> HostAddresses:
    """A host has one interface."""
    (ifindex,) = ifindex_of.values()
    return filling.known_addresses(ifindex)


def check_request(request: AttachRequest) -> Job:
    """Check that a request makes sense in itself. UserError for the first thing wrong."""
    if not request.ifnames:
        raise UserError("no interface given", hint="name the interface to attach to")
    if request.role is not Role.SWITCH and len(request.ifnames) > 1:
        raise UserError(
            f"a {request.role} is attached to one interface, {len(request.ifnames)} given",
            hint="attach each host by a command of its own",
        )
    _check_ports(request.ports)
    builders = {Role.SERVER: _server, Role.CLIENT: _client, Role.SWITCH: _switch}
    return builders[request.role](request)


def _check_ports(ports: tuple[int, ...] | None) -> None:
    if ports is None:
        return
    for port in ports:
        _check_range("port", port, 1, 65535)
        if ports.count(port) > 1:
            times = "twice" if ports.count(port) == 2 else f"{ports.count(port)} times"
            raise UserError(f"port {port} given {times}", hint="give --port once for each port")
    if len(ports) > MAX_PORTS:
        raise UserError(
            f"{len(ports)} ports given where {MAX_PORTS} are the most",
            hint=f"give --port at most {MAX_PORTS} times",
        )


def _check_range(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise UserError(f"{what} {value} is out of range", hint=f"it must be from {low} to {high}")


def _check_request_timeout(timeout_ns: int) -> None:
    if not MIN_REQUEST_TIMEOUT_NS <= timeout_ns <= MAX_REQUEST_TIMEOUT_NS:
        raise UserError(
            f"a request timeout of {format_duration(timeout_ns)} is out of range",
            hint="it must be from 10 ms to 1 hour",
        )


def _ports(request: AttachRequest) -> tuple[int, ...]:
    if request.ports:
        return request.ports
    return request.topology.switch.ports if request.topology else (DEFAULT_PORT,)


def _filter_tables(request: AttachRequest) -> int:
    if request.topology:
        return request.topology.switch.filter_tables
    return DEFAULT_FILTER_TABLES


def _server(request: AttachRequest) -> Job:
    if request.server_id is None:
        raise UserError("a server needs an id", hint="give --server-id N, as in the topology")
    _check_range("server id", request.server_id, 0, MAX_SERVERS - 1)
    workers = request.workers
    if request.topology:
        known = request.topology.server(request.server_id)
        workers = known.workers if workers is None else workers
    if workers is None:
        workers = 1
    _check_range("number of workers", workers, 1, MAX_WORKERS)
    _check_request_timeout(request.request_timeout_ns)
    return Job(
        request,
        ServerSettings(
            sid=request.server_id,
            workers=workers,
            state=request.state,
            ports=_ports(request),
            filter_tables=_filter_tables(request),
            request_timeout_ns=request.request_timeout_ns,
            reserve=bool(request.topology and request.topology.switch.reserve),
        ),
    )


def _client(request: AttachRequest) -> Job:
    servers = request.servers
    if request.topology:
        in_file = len(request.topology.servers)
        if servers is not None and servers != in_file:
            raise UserError(
                f"--servers {servers} disagrees with the topology, which has {in_file} servers",
                hint="give only --topology",
            )
        servers = in_file
    if servers is None:
        raise UserError(
            "a client needs the number of servers, to draw a group",
            hint="give --servers N or --topology FILE",
        )
    if servers == 1:
        raise UserError(
            "one server is too few: a group is a pair of different servers",
            hint="give --servers 2 or more",
        )
    _check_range("number of servers", servers, 2, MAX_SERVERS)
    return Job(
        request,
        ClientSettings(
            n_servers=servers,
            ports=_ports(request),
            filter_tables=_filter_tables(request),
            duplicate_window_ns=request.duplicate_window_ns,
            switch_id=request.topology.switch.id if request.topology else None,
        ),
    )


def _switch(request: AttachRequest) -> Job:
    if request.topology is None:
        raise UserError(
            "a switch needs the rack's topology", hint="give --topology FILE (docs show one)"
        )
    if request.servers not in (None, len(request.topology.servers)):
        raise UserError(
            f"--servers {request.servers} disagrees with the topology, which has "
            f"{len(request.topology.servers)} servers",
            hint="give only --topology",
        )
    tables = switch_tables(request.topology)
    if request.ports:
        tables = replace(tables, ports=request.ports)
    if request.server_timeout_ms is not None:
        check_server_timeout(request.server_timeout_ms)
        tables = replace(tables, server_timeout_ns=request.server_timeout_ms * 1_000_000)
    _check_switch_ports(request, tables)
    return Job(request, tables)


def _check_switch_ports(request: AttachRequest, tables: SwitchTables) -> None:
    """Every server must sit behind a port that is attached: its responses come in there. So must
    every client, whose requests would not be cloned."""
    behind = [(f"server {sid}", server.port) for sid, server in tables.servers.items()]
    if request.topology:
        behind += [(f"client {client.name}", client.port) for client in request.topology.clients]
    for who, port in behind:
        if port not in request.ifnames:
            raise UserError(
                f"{who} sits behind port {port}, which is not among the interfaces given",
                hint="attach all of the switch's ports by one command",
            )
