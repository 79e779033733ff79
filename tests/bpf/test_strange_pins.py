# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Something that is not ours stands where the pin of a link of ours was: detach takes off what is
ours, and nothing else."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netclone_host import topology
from netclone_host.attach import health, journal, pins, status
from netclone_host.attach.attach import AttachRequest, attach
from netclone_host.attach.roles import Role
from netclone_host.kernel import netns, objects, xdp
from netclone_host.kernel.xdp import XdpMode

from .commands import netclone_host
from .conftest import TOPOLOGY, Namespace, lose, run
from .crashes import die_at


def programs_on(ifname: str) -> list[tuple[str, int]]:
    return xdp.query(socket.if_nametoindex(ifname)).programs()


@pytest.fixture
def link_pin(switch_ports: list[str]) -> Iterator[Path]:
    """Where the link of port p1 of an attached switch is pinned."""
    request = AttachRequest(tuple(switch_ports), Role.SWITCH, topology=topology.loads(TOPOLOGY))
    attachment = attach(request).attachment
    yield attachment.link_pin(attachment.port("p1"))
    assert [programs_on(port) for port in switch_ports] == [[], [], []]


@pytest.fixture
def foreign_link(namespace: Namespace, own_bpffs: Path, not_ours: Path) -> Iterator[int]:
    """A link of somebody else's, on `other`."""
    namespace.veth("other", "other-wire")
    pin = own_bpffs / "somebody"
    run("bpftool", "prog", "load", str(not_ours), str(pin), "type", "xdp")
    program = objects.open_pin(pin)
    pin.unlink()
    link = objects.create_xdp_link(program, socket.if_nametoindex("other"), XdpMode.NATIVE.flag)
    os.close(program)
    yield link
    assert len(programs_on("other")) == 1
    os.close(link)


def a_map(pin: Path) -> None:
    """Of the counters: the number of its type is that of an XDP link."""
    counters = objects.open_pin(pin.parent / "nc_counters")
    objects.pin(counters, pin)
    os.close(counters)


def a_dead_end(pin: Path) -> None:
    pin.symlink_to("/nowhere")


def a_way_out(pin: Path) -> None:
    pin.symlink_to("/etc/passwd")


def nothing(_pin: Path) -> None:
    pass


@pytest.mark.parametrize("put", [a_map, a_dead_end, a_way_out, nothing])
def test_what_is_no_link_is_in_nobodys_way(link_pin: Path, put: Callable[[Path], None]) -> None:
    lose(link_pin)
    put(link_pin)
    assert [health.health(one) for one in status.attachments()] == ["detached"]
    groups = link_pin.with_name("nc_groups")
    if put is not a_map:
        groups.unlink()
        put(groups)
        refused = netclone_host("switch", "show")
        assert refused.exit_code == 2 and f"the pin {groups} is gone" in refused.output
    done = netclone_host("detach", "p0")
    assert done.exit_code == 0, done.output
    assert not pins.root().exists()


@pytest.mark.parametrize("name", ["nc_groups", "nc_switch_cfg", "nc_servers"])
@pytest.mark.parametrize("other", ["nc_counters", "nc_fdb", "link-p1"])
def test_another_thing_under_the_name_of_a_map_is_told(
    link_pin: Path, name: str, other: str
) -> None:
    """Read as the map of the name it would be read beyond its end."""
    pin = link_pin.with_name(name)
    pin.unlink()
    there = objects.open_pin(link_pin.with_name(other))
    objects.pin(there, pin)
    os.close(there)
    for words in (("show",), ("set", "--racksched"), ("remove-server", "1")):
        refused = netclone_host("switch", *words)
        assert refused.exit_code == 2, refused.output
        assert f"the pin {pin} is not that of the map {name}\nhint:" in refused.output
    assert netclone_host("status").exit_code == 0
    assert netclone_host("detach", "p0").exit_code == 0
    assert not pins.root().exists()


def test_a_directory_stays(link_pin: Path) -> None:
    lose(link_pin)
    link_pin.mkdir()
    done = netclone_host("detach", "p0")
    assert done.exit_code == 0, done.output
    assert list(link_pin.parent.iterdir()) == [link_pin]
    assert "not attached" in netclone_host("status").output
    link_pin.rmdir()
    pins.remove(link_pin.parent)


@pytest.mark.parametrize("name", ["nc_state", "link-p1"])
def test_what_stands_in_the_way_of_a_pin_is_named(
    switch_ports: list[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "rack.toml").write_text(TOPOLOGY)
    words = (*switch_ports, "--role", "switch", "--topology", str(tmp_path / "rack.toml"))
    in_the_way = pins.directory(netns.current().inode, "p0") / name
    in_the_way.mkdir(parents=True)
    refused = netclone_host("attach", *words)
    assert refused.exit_code == 2
    assert f"File exists ({in_the_way})\nhint: something else stands there" in refused.output
    assert [programs_on(port) for port in switch_ports] == [[], [], []]
    assert list(in_the_way.parent.iterdir()) == [in_the_way]
    in_the_way.rmdir()
    pins.remove(in_the_way.parent)


@pytest.mark.parametrize("with_journal", [True, False])
def test_a_foreign_link_stays_on(link_pin: Path, foreign_link: int, with_journal: bool) -> None:
    lose(link_pin)
    objects.pin(foreign_link, link_pin)
    if not with_journal:
        (journal.run_dir() / f"net-{netns.current().inode}" / "p0.json").unlink()
    done = netclone_host("detach", "p0")
    assert done.exit_code == 0, done.output
    assert not pins.root().exists() and len(programs_on("other")) == 1


def test_a_link_of_which_the_pin_was_replaced_is_told(link_pin: Path, foreign_link: int) -> None:
    link = objects.open_pin(link_pin)
    link_pin.unlink()
    objects.pin(foreign_link, link_pin)
    refused = netclone_host("detach", "p0")
    assert refused.exit_code == 2 and "its pin is not in the BPF file system" in refused.output
    os.close(link)
    lose(link_pin)
    assert netclone_host("detach", "p0").exit_code == 0


def test_a_link_that_somebody_else_holds_too_is_taken_off_after_a_crash(link_pin: Path) -> None:
    held = [objects.open_pin(link_pin.with_name(f"link-p{i}")) for i in range(3)]
    die_at(0, lambda: netclone_host("detach", "p0"))
    assert programs_on("p2") == [] and link_pin.with_name("link-p2").exists()
    done = netclone_host("detach", "p0")
    assert done.exit_code == 0, done.output
    for link in held:
        assert objects.link_info(link).ifindex == 0
        os.close(link)
