# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A journal that is damaged or lost: what there is without it shows, is in nobody's way but its
own, and can be cleared; and what others pinned stays."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from netclone_host.attach import journal, pins
from netclone_host.cli import main
from netclone_host.kernel import maps, netns, objects

from .commands import SERVER, done, netclone_host, programs_on
from .conftest import TOPOLOGY, Namespace, run
from .crashes import die_at


def journal_of(ifname: str) -> Path:
    return journal.run_dir() / f"net-{netns.current().inode}" / f"{ifname}.json"


def listed() -> tuple[dict[str, str], Result]:
    """First interface -> health."""
    result = netclone_host("status", "--json")
    records = json.loads(result.stdout)
    return {record["interfaces"][0]: record["health"] for record in records}, result


@pytest.fixture
def two(egress: str, namespace: Namespace) -> Iterator[None]:
    """A server on eth0 and a client on eth1."""
    for name in ("eth0", "eth1"):
        namespace.veth(name, f"{name}-wire")
    done("attach", "eth0", *SERVER)
    done("attach", "eth1", "--role", "client", "--servers", "2")
    yield
    if "eth1" in listed()[0]:
        done("detach", "eth1")


def without_ports(text: str) -> str:
    return json.dumps(json.loads(text) | {"ports": []})


def of_another_version(text: str) -> str:
    return json.dumps(json.loads(text) | {"colour": "green"})


def of_another_role(text: str) -> str:
    return json.dumps(json.loads(text) | {"role": "router"})


def of_another_interface(text: str) -> str:
    return text.replace("eth0", "eth9")


DAMAGES: list[Callable[[str], str]] = [
    lambda text: "",
    lambda text: text[:50],
    lambda text: "[]",
    lambda text: "{}",
    lambda text: "\0" * len(text),
    without_ports,
    of_another_version,
    of_another_role,
    of_another_interface,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_journal_is_named_and_the_rest_is_listed(
    two: None, damage: Callable[[str], str]
) -> None:
    path = journal_of("eth0")
    path.write_text(damage(path.read_text()))
    health, result = listed()
    assert health == {"eth0": "damaged", "eth1": "attached"}
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"error: the journal {path} is damaged, or of another version",
        "hint: 'netclone-host detach eth0' clears it, then attach again; 'netclone-host detach "
        "--gone' if the interface is gone",
    ]
    table = netclone_host("status")
    assert table.exit_code == 1 and "damaged" in table.stdout and "attached" in table.stdout
    assert table.stderr == result.stderr
    done("stats", "eth1")
    for words in (("stats", "eth0"), ("attach", "eth0", *SERVER)):
        refused = netclone_host(*words)
        assert refused.exit_code == 2 and refused.output == result.stderr
    assert "cleared" not in done("detach", "--gone").output
    assert "detached server from eth0" in done("detach", "eth0").output
    assert programs_on("eth0") == []
    health, result = listed()
    assert health == {"eth1": "attached"} and result.exit_code == 0


def test_others_attach_and_detach_beside_a_damaged_journal(two: None) -> None:
    journal_of("eth0").write_text("")
    done("detach", "eth1")
    refused = netclone_host("attach", "eth1", *SERVER)
    assert refused.exit_code == 2 and "server id 0 is used already, on eth0" in refused.output
    done("attach", "eth1", "--role", "server", "--server-id", "1")
    done("detach", "eth0")


@pytest.mark.parametrize("lost", [False, True], ids=["damaged", "lost"])
def test_force_replaces_what_has_no_journal(two: None, lost: bool) -> None:
    journal_of("eth0").write_text("")
    if lost:
        journal_of("eth0").unlink()
    before = programs_on("eth0")
    done("attach", "eth0", *SERVER, "--force")
    after = programs_on("eth0")
    assert len(after) == 2 and not set(before) & set(after)
    done("detach", "eth0")
    assert programs_on("eth0") == []


def test_pins_without_a_journal_show_and_can_be_detached(two: None) -> None:
    journal_of("eth0").unlink()
    health, result = listed()
    assert health == {"eth0": "orphaned", "eth1": "attached"} and result.exit_code == 1
    directory = pins.directory(netns.current().inode, "eth0")
    assert f"error: the pins {directory} have no journal" in result.stderr
    for words in (("stats", "eth0"), ("attach", "eth0", *SERVER)):
        refused = netclone_host(*words)
        assert refused.exit_code == 2 and "have no journal" in refused.output
    assert done("detach", "--gone").output == ""
    assert "detached server from eth0" in done("detach", "eth0").output
    assert programs_on("eth0") == []
    refused = netclone_host("detach", "eth0")
    assert refused.exit_code == 2 and "not attached to eth0" in refused.output


def test_a_lost_journal_of_an_interface_that_has_another_name_now(two: None) -> None:
    journal_of("eth0").unlink()
    for words in (("down",), ("name", "new0")):
        run("ip", "link", "set", "eth0", *words)
    assert "detached server from new0" in done("detach", "new0").output
    assert programs_on("new0") == []


@pytest.mark.parametrize("lost", [False, True], ids=["damaged", "lost"])
def test_what_a_deleted_interface_left_is_cleared_by_gone(two: None, lost: bool) -> None:
    journal_of("eth0").write_text("")
    if lost:
        journal_of("eth0").unlink()
    run("ip", "link", "del", "eth0")
    inode = netns.current().inode
    assert done("detach", "--gone").output == f"cleared server of eth0, net {inode}\n"
    assert listed()[0] == {"eth1": "attached"}


def test_a_crash_at_each_step_whose_journal_is_lost(namespace: Namespace) -> None:
    namespace.veth("eth0", "wire")
    steps = ("attach", "eth0", *SERVER)
    done(*steps)
    done("detach", "eth0")
    reached = 0
    for position in range(100):
        try:
            die_at(position, lambda: main(steps))
        except AssertionError:
            break  # it came to its end
        reached += 1
        journal_of("eth0").unlink()
        found = netclone_host("detach", "eth0")
        # Before anything was pinned nothing was done.
        assert found.exit_code == 0 or not list(pins.root().glob("*/*/*")), found.output
        assert programs_on("eth0") == []
        done("attach", "eth0", *SERVER)
        done("detach", "eth0")
    assert reached > 10
    done("detach", "eth0")


def test_an_attach_that_died_before_its_link_in_a_namespace_that_is_gone(
    clean_slate: None,
) -> None:
    for kept in (True, False):
        name = f"nct-{os.getpid()}-half"
        run("ip", "netns", "add", name)
        with netns.entered(name):
            run("ip", "link", "add", "eth9", "type", "veth", "peer", "name", "wire9")
            die_at(4, lambda: main(("attach", "eth9", *SERVER)))
            inode = netns.current().inode
            if not kept:
                journal_of("eth9").unlink()
        assert done("detach", "--gone").output == ""
        run("ip", "netns", "del", name)
        assert f"of eth9, net {inode}\n" in done("detach", "--gone").output


def test_what_others_pinned_beside_ours_stays(namespace: Namespace) -> None:
    namespace.veth("eth0", "wire")
    inode = netns.current().inode
    theirs = maps.create_map(maps.MapType.ARRAY, "theirs", 4, 8, 1)
    elsewhere = pins.root() / f"net-{inode}" / "eth7"
    elsewhere.mkdir(parents=True)
    objects.pin(theirs.fd, elsewhere / "theirs")
    assert listed()[0] == {}
    done("attach", "eth0", *SERVER)
    beside = pins.directory(inode, "eth0") / "theirs"
    objects.pin(theirs.fd, beside)
    os.close(theirs.fd)
    done("detach", "eth0")
    assert beside.exists() and list(beside.parent.iterdir()) == [beside]
    done("attach", "eth0", *SERVER)
    done("detach", "eth0")
    assert done("detach", "--gone").output == ""
    assert beside.exists() and (elsewhere / "theirs").exists()
    for path in (beside, elsewhere / "theirs"):
        path.unlink()
        pins.remove(path.parent)


def test_a_damaged_journal_whose_pins_are_elsewhere_is_left(
    two: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "bpffs"
    other.mkdir()
    run("mount", "-t", "bpf", "bpf", str(other))
    try:
        whole = journal_of("eth0").read_text()
        journal_of("eth0").write_text("")
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("NETCLONE_BPFFS", str(other))
            refused = netclone_host("detach", "eth0")
            assert refused.exit_code == 2 and "is not in the BPF file system" in refused.output
        assert len(programs_on("eth0")) == 2
        journal_of("eth0").write_text(whole)
        done("detach", "eth0")
    finally:
        run("umount", str(other))


def test_a_switch_whose_journal_is_damaged(switch_ports: list[str], tmp_path: Path) -> None:
    (tmp_path / "rack.toml").write_text(TOPOLOGY)
    attach = (
        "attach",
        *switch_ports,
        "--role",
        "switch",
        "--topology",
        str(tmp_path / "rack.toml"),
    )
    done(*attach)
    journal_of("p0").write_text("")
    for words in (("switch", "show"), ("switch", "show", "--port", "p1"), ("stats", "p2"), attach):
        refused = netclone_host(*words)
        assert refused.exit_code == 2 and f"{journal_of('p0')} is damaged" in refused.output, words
    assert "detached switch from p0, p1, p2" in done("detach", "p1").output
    assert [programs_on(port) for port in switch_ports] == [[], [], []]


def test_what_is_no_journal_of_ours_is_passed_over(two: None) -> None:
    strange = journal.run_dir() / "net-abc"
    strange.mkdir()
    (strange / "eth0.json").write_text("{")
    journal_of("eth5").mkdir()
    (pins.root() / "net-abc" / "eth0").mkdir(parents=True)
    assert done("status", "--all").stderr == ""
    assert done("detach", "--gone").output == ""
    done("detach", "eth0")
    (pins.root() / "net-abc" / "eth0").rmdir()
    (pins.root() / "net-abc").rmdir()
