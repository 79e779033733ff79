# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Interfaces are renamed, swapped and moved while NetClone is attached: each command means the
interface that has the name now."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclone_host.attach import pins
from netclone_host.kernel import netns

from .commands import SERVER, done, netclone_host, programs_on
from .conftest import TOPOLOGY, Namespace, run

CLIENT = ("--role", "client", "--servers", "3")


def rename(old: str, new: str) -> None:
    for words in ((old, "down"), (old, "name", new), (new, "up")):
        run("ip", "link", "set", *words)


def swap(one: str, other: str) -> None:
    for old, new in ((one, "passing"), (other, one), ("passing", other)):
        rename(old, new)


def healths() -> dict[str, tuple[str, str]]:
    """Interface -> role and health."""
    records = json.loads(done("status", "--json").stdout)
    return {record["interfaces"][0]: (record["role"], record["health"]) for record in records}


@pytest.fixture
def links(egress: str, namespace: Namespace) -> Namespace:
    for name in ("eth0", "eth1"):
        namespace.veth(name, f"{name}-wire")
    return namespace


@pytest.fixture
def another() -> Iterator[str]:
    """The name of one more namespace."""
    name = f"nct-{os.getpid()}-{secrets.token_hex(3)}"
    run("ip", "netns", "add", name)
    yield name
    run("ip", "netns", "del", name)


def test_a_renamed_interface_is_known_by_its_present_name(links: Namespace) -> None:
    done("attach", "eth0", *SERVER)
    rename("eth0", "new0")
    assert healths() == {"new0": ("server", "attached")}
    assert json.loads(done("stats", "new0", "--json").stdout)["interfaces"] == ["new0"]
    refused = netclone_host("attach", "new0", *SERVER)
    assert refused.exit_code == 2 and "attached to new0 already, as a server" in refused.output
    done("attach", "new0", *CLIENT, "--force")
    assert healths() == {"new0": ("client", "attached")}
    assert done("detach", "new0").stdout == "detached client from new0\n"
    assert programs_on("new0") == []


def test_a_former_name_that_nobody_has_will_do(links: Namespace) -> None:
    done("attach", "eth0", *SERVER)
    rename("eth0", "new0")
    assert done("detach", "eth0").stdout == "detached server from new0\n"
    assert programs_on("new0") == []


def test_interfaces_that_swapped_names(links: Namespace) -> None:
    done("attach", "eth0", *SERVER)
    done("attach", "eth1", *CLIENT)
    swap("eth0", "eth1")
    assert healths() == {"eth1": ("server", "attached"), "eth0": ("client", "attached")}
    assert json.loads(done("stats", "eth0", "--json").stdout)["role"] == "client"
    done("client", "set", "eth0", "--servers", "4")
    assert done("detach", "eth0").stdout == "detached client from eth0\n"
    assert programs_on("eth0") == [] and len(programs_on("eth1")) == 2
    assert done("detach", "eth1").stdout == "detached server from eth1\n"


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_new_interface_under_a_former_name(links: Namespace, force: tuple[str, ...]) -> None:
    done("attach", "eth0", *SERVER)
    rename("eth0", "old0")
    links.veth("eth0", "wire0")
    refused = netclone_host("detach", "eth0")
    assert refused.exit_code == 2 and "not attached to eth0" in refused.output
    refused = netclone_host("attach", "eth0", *CLIENT, *force)
    assert refused.exit_code == 2
    assert "attached to old0 as a server, and old0 was called eth0" in refused.output
    assert len(programs_on("old0")) == 2
    done("detach", "old0")
    done("attach", "eth0", *CLIENT, *force)
    done("detach", "eth0")


def test_what_an_interface_brought_from_another_namespace(links: Namespace, another: str) -> None:
    done("attach", "eth0", *SERVER)
    run("ip", "link", "set", "eth0", "netns", another)
    assert healths() == {"eth0": ("server", "stale")}
    assert done("detach", "--gone").output == "", "its program still runs"
    with netns.entered(another):
        refused = netclone_host("attach", "eth0", *SERVER)
        assert refused.exit_code == 2 and "'netclone-host detach eth0' takes it off" in (
            refused.output
        )
        done("detach", "eth0")
        assert programs_on("eth0") == []
        done("attach", "eth0", *SERVER)
        done("detach", "eth0")
    assert healths() == {}


def test_a_moved_interface_is_detached_where_it_was_too(links: Namespace, another: str) -> None:
    done("attach", "eth0", *SERVER)
    run("ip", "link", "set", "eth0", "netns", another)
    done("detach", "eth0")
    with netns.entered(another):
        assert programs_on("eth0") == []


def test_an_egress_program_that_somebody_took_off_shows(links: Namespace, egress: str) -> None:
    done("attach", "eth0", *SERVER)
    if egress == "tcx":
        (pins.directory(netns.current_inode(), "eth0") / "egress-eth0").unlink()
    else:
        run("tc", "qdisc", "del", "dev", "eth0", "clsact")
    assert healths() == {"eth0": ("server", "detached")}
    done("detach", "eth0")


def test_a_switch_whose_port_has_another_name(switch_ports: list[str], tmp_path: Path) -> None:
    topology = tmp_path / "rack.toml"
    topology.write_text(TOPOLOGY)
    done("attach", *switch_ports, "--role", "switch", "--topology", str(topology))
    for old, new in (("p0", "q0"), ("p2", "q2")):
        rename(old, new)
    assert healths() == {"q0": ("switch", "attached")}
    record = json.loads(done("switch", "show", "--port", "q2", "--json").stdout)
    assert record["ports"] == ["q0", "p1", "q2"]
    assert [server["port"] for server in record["servers"]] == ["q0", "p1"]
    done("switch", "set", "--server-timeout", "90")
    added = ("--ip4", "10.0.1.103", "--mac", "02:00:00:00:01:67", "--switch-port", "q2")
    done("switch", "add-server", "2", *added)
    done("switch", "remove-server", "0")
    assert done("detach", "q2").stdout == "detached switch from q0, p1, q2\n"
