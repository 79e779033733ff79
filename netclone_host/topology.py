# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The topology file: one TOML text that describes a rack.

The XDP switch, BMv2, Tofino and the software rack all read it::

    [switch]
    id = 0                  # SWITCH_ID; 0 = single rack
    ports = [1000]          # NetClone's UDP (or TCP) ports, at most 8
    filter_tables = 2       # section 3.5 of the paper
    filter_slots = 131072   # per table, a power of two
    racksched = false       # shorter queue instead of the first candidate
    cloning = true          # false: RackSched alone
    reserve = false         # the reserve rule (docs/simulator.md) on switch and servers
    capacity = 32           # servers that the switch has room for
    server_timeout_ms = 0   # 0 = no failure detection

    [[server]]
    id = 0                  # SID, 0 .. 255
    ip4 = "10.0.1.101"      # ip4, ip6 or both
    ip6 = "fd00:1::65"
    mac = "02:00:00:00:01:65"
    port = "s1"             # switch port: a link name (XDP) or a number (BMv2, Tofino)
    workers = 15

    [[client]]
    name = "c1"
    ip4 = "10.0.1.1"
    mac = "02:00:00:00:01:01"
    port = "c1"

Unknown keys are errors. Everything a user can get wrong raises `UserError`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from netclone_host import toml_values
from netclone_host.errors import UserError

MIN_SERVERS = 2
MAX_SERVERS = 256
DEFAULT_CAPACITY = 32
DEFAULT_PORT = 1000
MAX_PORTS = 8
DEFAULT_FILTER_TABLES = 2
MAX_FILTER_TABLES = 16
DEFAULT_FILTER_SLOTS = 1 << 17
MAX_FILTER_SLOTS = 1 << 24
DEFAULT_WORKERS = 15
MAX_WORKERS = 65535
# The data plane's clock has the resolution of a kernel tick, 1 to 10 ms: a shorter timeout would
# expire with the next tick, however soon that comes.
MIN_SERVER_TIMEOUT_MS, MAX_SERVER_TIMEOUT_MS = 10, 3_600_000
DEFAULT_STATE_TIMEOUT_MS = 1000  # as the request timeout of the servers
MAX_FILE_BYTES = 1 << 20
"""Limit for a topology file; 256 servers and 100 clients take a twentieth of it."""

PortName = str | int
"""A switch port: the name of a link for XDP, a number for BMv2 and Tofino."""


@dataclass(frozen=True)
class Switch:
    """The top-of-rack switch, and the settings of its NetClone program."""

    id: int = 0
    ports: tuple[int, ...] = (DEFAULT_PORT,)
    filter_tables: int = DEFAULT_FILTER_TABLES
    filter_slots: int = DEFAULT_FILTER_SLOTS
    racksched: bool = False
    capacity: int = DEFAULT_CAPACITY
    server_timeout_ms: int = 0
    cloning: bool = True
    reserve: bool = False
    state_timeout_ms: int = DEFAULT_STATE_TIMEOUT_MS
    clone_share_max: int = 0
    """Percent of the requests; 0: no cap."""


@dataclass(frozen=True)
class Server:
    """A worker server: a row of the address table (AddrT)."""

    id: int
    mac: str
    port: PortName
    ip4: IPv4Address | None = None
    ip6: IPv6Address | None = None
    workers: int = DEFAULT_WORKERS


@dataclass(frozen=True)
class Client:
    """A client. The switch does not need it; the rack and static forwarding do."""

    name: str
    mac: str
    port: PortName
    ip4: IPv4Address | None = None
    ip6: IPv6Address | None = None


@dataclass(frozen=True)
class Topology:
    """A checked rack: at least two servers, no id, name or address used twice."""

    switch: Switch = field(default_factory=Switch)
    servers: tuple[Server, ...] = ()
    clients: tuple[Client, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    @property
    def server_ids(self) -> tuple[int, ...]:
        """Server ids in ascending order, the order in which groups count them."""
        return tuple(sorted(server.id for server in self.servers))

    @property
    def n_groups(self) -> int:
        """Ordered pairs of two different servers: n(n-1)."""
        return len(self.servers) * (len(self.servers) - 1)

    def groups(self) -> dict[int, tuple[int, int]]:
        """GRP -> (first, second), both server ids; see `group_pairs`."""
        return dict(enumerate(group_pairs(self.server_ids), start=1))

    def server(self, server_id: int) -> Server:
        """The server with this id; `UserError` if there is none."""
        for server in self.servers:
            if server.id == server_id:
                return server
        known = ", ".join(str(known_id) for known_id in self.server_ids)
        raise UserError(
            f"the topology has no server with id {server_id}", hint=f"its servers are {known}"
        )


def check_server_timeout(timeout_ms: int) -> None:
    """UserError if it is neither 0 (off) nor in range."""
    if timeout_ms and not MIN_SERVER_TIMEOUT_MS <= timeout_ms <= MAX_SERVER_TIMEOUT_MS:
        raise UserError(
            f"server timeout {timeout_ms} ms is out of range",
            hint=f"give 0 (off), or {MIN_SERVER_TIMEOUT_MS} to {MAX_SERVER_TIMEOUT_MS}",
        )


def group_pairs(server_ids: Sequence[int]) -> list[tuple[int, int]]:
    """The group table (GrpT): element k is group k + 1, as docs/wire-format.md numbers them.

    The ids are taken in the order given; a topology gives them ascending. When a server is
    removed the others are renumbered, so that GRP has no gaps.
    """
    pairs: list[tuple[int, int]] = []
    for i, first in enumerate(server_ids):
        for second in server_ids[i + 1 :]:
            pairs += [(first, second), (second, first)]
    return pairs


def load(path: Path) -> Topology:
    """Read and check a topology file."""
    try:
        text = _read(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(
            f"cannot read the topology file {path}: {reason}",
            hint="give the path of a TOML file; 'netclone-host rack up' writes one for its rack",
        ) from None
    return loads(text, source=str(path))


def _read(path: Path) -> str:
    """Bounded, because the path may name a device that never ends."""
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise UserError(
            f"{path} has more than {MAX_FILE_BYTES >> 20} MiB, which no topology file has",
            hint="give the path of a topology file",
        )
    return content.decode("utf-8")


def loads(text: str, source: str = "topology") -> Topology:
    """Check the text of a topology file; `source` names it in errors."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(
            f"{source} is not valid TOML: {error}", hint="docs/rack.md shows a topology file"
        ) from None
    try:
        return _from_document(document)
    except UserError as error:
        raise UserError(f"{source}: {error.message}", hint=error.hint) from None


def _from_document(document: dict[str, object]) -> Topology:
    toml_values.check_keys(document, "the file", ("switch", "server", "client"))
    servers = tuple(_server(table) for table in toml_values.tables(document, "server"))
    switch = _switch(toml_values.table(document, "switch"), len(servers))
    clients = tuple(_client(table) for table in toml_values.tables(document, "client"))
    return Topology(switch, servers, clients)


def _switch(table: toml_values.Table, n_servers: int) -> Switch:
    fields = tuple(Switch.__dataclass_fields__)
    toml_values.check_keys(table, "[switch]", fields)
    read = toml_values.Reader(table, "[switch]")
    return Switch(
        id=read.integer("id", 0, 65535, default=0),
        ports=read.integers("ports", 1, 65535, MAX_PORTS, default=(DEFAULT_PORT,)),
        filter_tables=read.integer(
            "filter_tables", 1, MAX_FILTER_TABLES, default=DEFAULT_FILTER_TABLES
        ),
        filter_slots=read.power_of_two(
            "filter_slots", MAX_FILTER_SLOTS, default=DEFAULT_FILTER_SLOTS
        ),
        racksched=read.boolean("racksched", default=False),
        capacity=read.integer(
            "capacity", MIN_SERVERS, MAX_SERVERS, default=max(DEFAULT_CAPACITY, n_servers)
        ),
        server_timeout_ms=read.integer_or_off(
            "server_timeout_ms", MIN_SERVER_TIMEOUT_MS, MAX_SERVER_TIMEOUT_MS
        ),
        cloning=read.boolean("cloning", default=True),
        reserve=read.boolean("reserve", default=False),
        state_timeout_ms=read.integer_or_off(
            "state_timeout_ms",
            MIN_SERVER_TIMEOUT_MS,
            MAX_SERVER_TIMEOUT_MS,
            default=DEFAULT_STATE_TIMEOUT_MS,
        ),
        clone_share_max=read.integer("clone_share_max", 0, 100, default=0),
    )


def _server(table: toml_values.Table) -> Server:
    toml_values.check_keys(table, "[[server]]", tuple(Server.__dataclass_fields__))
    read = toml_values.Reader(table, "[[server]]")
    server_id = read.integer("id", 0, MAX_SERVERS - 1)
    read.where = f"server {server_id}"
    ip4, ip6 = read.addresses()
    return Server(
        id=server_id,
        mac=read.mac("mac"),
        port=read.port("port"),
        ip4=ip4,
        ip6=ip6,
        workers=read.integer("workers", 1, MAX_WORKERS, default=DEFAULT_WORKERS),
    )


def _client(table: toml_values.Table) -> Client:
    toml_values.check_keys(table, "[[client]]", tuple(Client.__dataclass_fields__))
    read = toml_values.Reader(table, "[[client]]")
    name = read.name("name")
    read.where = f"client {name}"
    ip4, ip6 = read.addresses()
    return Client(name=name, mac=read.mac("mac"), port=read.port("port"), ip4=ip4, ip6=ip6)


def _check(topology: Topology) -> None:
    n_servers = len(topology.servers)
    if n_servers < MIN_SERVERS:
        raise UserError(
            f"a rack needs at least two servers, {n_servers} given: a group is a pair of different "
            "servers",
            hint="add a [[server]] table (rack up: --servers 2)",
        )
    if n_servers > topology.switch.capacity:
        raise UserError(
            f"{n_servers} servers do not fit the switch's capacity of {topology.switch.capacity}",
            hint=f"set capacity = {n_servers} or more in [switch] (at most {MAX_SERVERS})",
        )
    owners: dict[tuple[str, object], str] = {}
    for server in topology.servers:
        _claim(owners, "id", server.id, f"server {server.id}")
    for client in topology.clients:
        _claim(owners, "name", client.name, f"client {client.name}")
    hosts: list[tuple[str, Server | Client]] = [(f"server {s.id}", s) for s in topology.servers]
    hosts += [(f"client {c.name}", c) for c in topology.clients]
    for owner, host in hosts:
        for what, value in (("mac", host.mac), ("ip4", host.ip4), ("ip6", host.ip6)):
            if value is not None:
                _claim(owners, what, value, owner)


def _claim(owners: dict[tuple[str, object], str], what: str, value: object, owner: str) -> None:
    previous = owners.get((what, value))
    if previous is None:
        owners[what, value] = owner
        return
    users = "" if previous == owner else f", by {previous} and by {owner}"
    raise UserError(
        f"{what} {value} is used twice{users}",
        hint="every host needs an id or name, a MAC and IP addresses of its own",
    )


def dumps(topology: Topology) -> str:
    """The TOML text that `loads` reads back into the same topology."""
    lines = ["[switch]"]
    for key in Switch.__dataclass_fields__:
        value = getattr(topology.switch, key)
        lines.append(f"{key} = {toml_values.toml_value(value)}")
    for heading, hosts in (("server", topology.servers), ("client", topology.clients)):
        for host in hosts:
            lines += ["", f"[[{heading}]]"]
            for key in type(host).__dataclass_fields__:
                if (value := getattr(host, key)) is not None:
                    lines.append(f"{key} = {toml_values.toml_value(value)}")
    return "\n".join(lines) + "\n"
