# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Words and files that a user can get wrong: a sentence, a hint, exit status 2, and nothing
changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netclone_host.attach.status import attached_to, read_counters
from netclone_host.errors import UserError

from .commands import SERVER, netclone_host
from .conftest import Namespace


def test_unknown_interface(refused: Callable[..., None], host: str) -> None:
    refused(
        "attach", "eth1", *SERVER,
        error="there is no interface eth1 in this network namespace",
        hint="did you mean eth0?",
    )  # fmt: skip


def test_interface_name_too_long(refused: Callable[..., None], host: str) -> None:
    refused(
        "attach", "a-name-of-sixteen", *SERVER,
        error="the interface name a-name-of-sixteen has 17 characters, and Linux allows 15",
        hint="ip link",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b"])
def test_what_is_no_interface_name(refused: Callable[..., None], name: str) -> None:
    refused("attach", name, *SERVER, error="is no interface name", hint="ip link")


def test_interface_named_twice(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    refused(
        "attach", "p0", "p1", "p0", "--role", "switch", "--topology", str(topology_file),
        error="interface p0 is named twice",
        hint="once",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "option", "role"),
    [
        (("client", "--servers", "2", "--server-id", "4"), "--server-id", "server"),
        (("client", "--servers", "2", "--workers", "15"), "--workers", "server"),
        (("client", "--servers", "2", "--state", "inflight"), "--state", "server"),
        (("client", "--servers", "2", "--request-timeout", "1s"), "--request-timeout", "server"),
        (("client", "--servers", "2", "--server-timeout", "9"), "--server-timeout", "switch"),
        (("server", "--server-id", "0", "--servers", "2"), "--servers", "client or switch"),
        (("server", "--server-id", "0", "--server-timeout", "9"), "--server-timeout", "switch"),
        (("switch", "--server-id", "0"), "--server-id", "server"),
        (("switch", "--workers", "15"), "--workers", "server"),
    ],
)
def test_option_of_another_role(
    refused: Callable[..., None], host: str, words: tuple[str, ...], option: str, role: str
) -> None:
    refused(
        "attach", host, "--role", *words,
        error=f"{option} does not apply to role {words[0]}",
        hint=f"omit it; it is for role {role}",
    )  # fmt: skip


@pytest.mark.parametrize("server_id", ["-1", "256", "70000"])
def test_server_id_out_of_range(refused: Callable[..., None], host: str, server_id: str) -> None:
    refused(
        "attach", host, "--role", "server", "--server-id", server_id,
        error=f"server id {server_id} is out of range",
        hint="from 0 to 255",
    )  # fmt: skip


def test_server_id_missing(refused: Callable[..., None], host: str) -> None:
    refused("attach", host, "--role", "server", error="a server needs an id", hint="--server-id")


def test_server_id_used_twice(refused: Callable[..., None], namespace: Namespace) -> None:
    namespace.veth("eth0", "wire0")
    namespace.veth("eth1", "wire1")
    assert netclone_host("attach", "eth0", *SERVER).exit_code == 0
    refused(
        "attach", "eth1", *SERVER,
        error="server id 0 is used already, on eth0",
        hint="an id of its own",
    )  # fmt: skip
    assert netclone_host("detach", "eth0").exit_code == 0


def test_one_server_only(refused: Callable[..., None], host: str) -> None:
    refused(
        "attach", host, "--role", "client", "--servers", "1",
        error="one server is too few",
        hint="--servers 2",
    )  # fmt: skip


def test_client_without_the_number_of_servers(refused: Callable[..., None], host: str) -> None:
    refused(
        "attach", host, "--role", "client",
        error="a client needs the number of servers",
        hint="--topology",
    )  # fmt: skip


@pytest.mark.parametrize("port", ["0", "65536"])
def test_port_out_of_range(refused: Callable[..., None], host: str, port: str) -> None:
    refused("attach", host, *SERVER, "--port", port, error=f"port {port}", hint="65535")


def test_too_many_ports(refused: Callable[..., None], host: str) -> None:
    ports = [word for port in range(1000, 1009) for word in ("--port", str(port))]
    refused("attach", host, *SERVER, *ports, error="9 ports given", hint="at most 8 times")


@pytest.mark.parametrize(
    ("ports", "sentence"), [("11", "port 1000 given twice"), ("111", "port 1000 given 3 times")]
)
def test_a_port_given_more_than_once(
    refused: Callable[..., None], host: str, ports: str, sentence: str
) -> None:
    words = [word for _ in ports for word in ("--port", "1000")]
    refused("attach", host, *SERVER, *words, error=sentence, hint="once for each port")


@pytest.mark.parametrize(
    ("timeout", "sentence"),
    [
        ("1ns", "a request timeout of 1ns is out of range"),
        ("2000min", "out of range"),
        ("0s", "'0s' is not above 0"),
        ("1", "has no unit"),
        ("soon", "is not a duration"),
    ],
)
def test_a_request_timeout_out_of_range(
    refused: Callable[..., None], host: str, timeout: str, sentence: str
) -> None:
    """Each hint states the range, and suggests nothing that lies outside of it."""
    refused("attach", host, *SERVER, "--request-timeout", timeout, error=sentence, hint="from 10")


def test_a_host_has_one_interface(refused: Callable[..., None], switch_ports: list[str]) -> None:
    refused("attach", "p0", "p1", *SERVER, error="one interface, 2 given", hint="of its own")


def test_attached_already(refused: Callable[..., None], host: str) -> None:
    assert netclone_host("attach", host, *SERVER).exit_code == 0
    refused("attach", host, *SERVER, error="attached to eth0 already, as a server", hint="--force")
    assert netclone_host("detach", host).exit_code == 0


def test_detach_what_is_not_attached(refused: Callable[..., None], host: str) -> None:
    refused("detach", host, error="NetClone is not attached to eth0", hint="status")
    refused("stats", host, error="NetClone is not attached to eth0", hint="status")
    refused("detach", "eth7", error="there is no interface eth7", hint="eth0")


def test_what_was_detached_meanwhile(host: str) -> None:
    assert netclone_host("attach", host, *SERVER).exit_code == 0
    attachment = attached_to(host)
    assert netclone_host("detach", host).exit_code == 0
    with pytest.raises(UserError, match="was detached from eth0 meanwhile"):
        read_counters(attachment)
