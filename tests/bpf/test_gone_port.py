# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The link of a server's port is deleted under the switch: what concerns the others goes on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from netclone_host.attach import tables
from netclone_host.attach.detach import detach
from netclone_host.cli import main
from netclone_host.errors import UserError
from netclone_host.topology import loads

from .conftest import TOPOLOGY, Namespace, run
from .running_switch import bring, config

NEW = ("--ip4", "10.0.1.103", "--mac", "02:00:00:00:01:67", "--switch-port", "p2")


def switch(*words: str) -> Result:
    return CliRunner().invoke(main, ("switch", *words))


@pytest.fixture(params=["p0", "p1"])
def gone(
    namespace: Namespace, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[str, int]]:
    """A switch of two servers; the link of one is deleted. Its name and its index."""
    for port in ("p0", "p1", "p2", "p3"):
        namespace.veth(port, f"{port}-wire")
    path = tmp_path_factory.mktemp("gone") / "rack.toml"
    path.write_text(TOPOLOGY)
    words = ("attach", "p0", "p1", "p2", "p3", "--role", "switch", "--topology", str(path))
    assert CliRunner().invoke(main, words).exit_code == 0
    port: str = request.param
    index = socket.if_nametoindex(port)
    run("ip", "link", "del", port)
    try:
        yield port, index
    finally:
        detach("p2")


def test_show_names_it(gone: tuple[str, int]) -> None:
    shown = switch("show", "--json")
    assert shown.exit_code == 0, shown.output
    ports = {server["port"] for server in json.loads(shown.output)["servers"]}
    assert f"a port that is gone (ifindex {gone[1]})" in ports


def test_a_setting_does_not_depend_on_it(gone: tuple[str, int]) -> None:
    done = switch("set", "--racksched", "--server-timeout", "250")
    assert done.exit_code == 0, done.output
    assert (
        config().flags & tables.SwitchFlag.RACKSCHED and config().server_timeout_ns == 250_000_000
    )


def test_its_server_is_replaced(gone: tuple[str, int]) -> None:
    failed = "0" if gone[0] == "p0" else "1"
    added = switch("add-server", "2", *NEW)
    assert added.exit_code == 0, added.output
    assert config().n_groups == 6
    assert switch("set", "--no-racksched").exit_code == 0
    removed = switch("remove-server", failed)
    assert removed.exit_code == 0, removed.output
    record = json.loads(switch("show", "--json").output)
    assert "gone" not in json.dumps(record)
    other = 1 - int(failed)
    assert list(record["groups"].values()) == [[other, 2], [2, other]]
    assert not config().flags & tables.SwitchFlag.HOLD


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("--ip4", "255.255.255.255", "ip4 = '255.255.255.255'"),
        ("--ip4", "224.0.0.1", "ip4 = '224.0.0.1'"),
        ("--ip4", "10.0.1", "ip4 = '10.0.1'"),
        ("--mac", "03:00:00:00:01:67", "mac = '03:00:00:00:01:67'"),
        ("--switch-port", "a b", "port = 'a b'"),
        ("--switch-port", "p9", "port p9, which the switch is not attached to"),
    ],
)
def test_a_server_that_cannot_be_is_refused(
    gone: tuple[str, int], option: str, value: str, error: str
) -> None:
    before = switch("show", "--json").output
    refused = switch("add-server", "2", *NEW, option, value)
    assert refused.exit_code == 2 and error in refused.output
    assert switch("show", "--json").output == before


def test_a_topology_that_needs_it_is_refused_with_a_way_out(gone: tuple[str, int]) -> None:
    with pytest.raises(UserError, match=f"no interface {gone[0]}") as refusal:
        bring(loads(TOPOLOGY))
    assert "--without-server" in refusal.value.hint
