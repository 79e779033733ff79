# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The verbs of `netclone-host rack`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from netclone_host.cli import main
from netclone_host.kernel import netns
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan

from .commands import in_node, rack_command


def test_exec_runs_in_the_node_with_its_own_sys_and_the_bpffs(plain_rack: Plan) -> None:
    links = in_node(plain_rack, "s1", "ls", "/sys/class/net")
    assert links.stdout.split() == ["eth0", "lo"]
    ports = in_node(plain_rack, "sw", "ls", "/sys/class/net")
    assert {"br0", "c1", "c2", "s1", "s2"} <= set(ports.stdout.split())
    mounts = Path("/proc/self/mountinfo")
    if " - bpf " in mounts.read_text(encoding="utf-8"):
        inside = in_node(plain_rack, "s1", "stat", "-c", "%d %i", "/sys/fs/bpf").stdout.split()
        outside = Path("/sys/fs/bpf").stat()
        assert inside == [str(outside.st_dev), str(outside.st_ino)]
    # The node's /sys is its own affair.
    assert mounts.read_text(encoding="utf-8").count(" - sysfs ") == 1


def test_exec_passes_options_input_and_exit_status_on(plain_rack: Plan) -> None:
    done = in_node(plain_rack, "c1", "sh", "-c", 'echo "$1" --name x; exit 7', "sh", "-v")
    assert done.stdout == "-v --name x\n"
    assert done.returncode == 7
    assert in_node(plain_rack, "c2", "sh", "-c", "kill -9 $$").returncode == -9


def test_exec_says_what_is_wrong(plain_rack: Plan, rack_name: str) -> None:
    for done, error, hint in (
        (in_node(plain_rack, "s9", "true"), "no node 's9'", "c1, c2, s1, s2, sw"),
        (in_node(plain_rack, "s1", "/no/such"), "cannot run '/no/such'", "PATH"),
        (rack_command("exec", "--name", rack_name, "s1", "true"), "is not up", "rack up"),
        (rack_command("exec", "--name", "a/b", "s1", "true"), "name of a rack", "letters"),
    ):
        assert done.returncode == 2
        assert error in done.stderr
        assert hint in done.stderr
        assert "Traceback" not in done.stderr


def test_up_status_list_down(rack_name: str, tmp_path: Path) -> None:
    up = rack_command(
        *("up", "--name", rack_name, "--servers", "2", "--clients", "1"),
        *("--workers", "4,8", "--no-attach"),
    )
    assert up.returncode == 0, up.stderr
    status = json.loads(rack_command("status", "--name", rack_name, "--json").stdout)
    by_name = {node["name"]: node for node in status["nodes"]}
    assert sorted(by_name) == ["c1", "s1", "s2", "sw"]
    assert (by_name["s1"]["workers"], by_name["s2"]["workers"]) == (4, 8)
    assert by_name["s2"]["ip4"] == "10.0.1.102"
    assert not any(node["attached"] for node in status["nodes"])
    listed = json.loads(rack_command("list", "--json").stdout)
    assert {"name": rack_name, "state": "up", "namespaces": 4} in listed

    # The topology that up wrote describes a rack that can be built again.
    written = tmp_path / "rack.toml"
    written.write_text(Journal(rack_name).topology_path.read_text())
    assert rack_command("down", "--name", rack_name).returncode == 0
    again = rack_command("down", "--name", rack_name)
    assert (again.returncode, again.stdout) == (0, f"rack '{rack_name}' is not up\n")
    rebuilt = rack_command("up", "--name", rack_name, "--topology", str(written), "--no-attach")
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert Journal(rack_name).topology_path.read_text() == written.read_text()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--servers", "1"), "cannot have 1 servers"),
        (("--servers", "257"), "cannot have 257 servers"),
        (("--clients", "0"), "cannot have 0 clients"),
        (("--racks", "3"), "cannot be 3 racks"),
        (("--workers", "x"), "not a number of workers"),
        (("--workers", "15,0", "--servers", "2"), "not a number of workers"),
        (("--workers", "15,15", "--servers", "3"), "2 numbers of workers"),
        (("--topology", "/no/such.toml"), "cannot read the topology file"),
        (("--topology", "/no/such.toml", "--servers", "2"), "already says how many"),
    ],
)
def test_up_refuses_bad_input_and_changes_nothing(
    rack_name: str, arguments: tuple[str, ...], error: str
) -> None:
    done = rack_command("up", "--name", rack_name, "--no-attach", *arguments)
    assert done.returncode == 2
    assert error in done.stderr
    assert "hint: " in done.stderr
    assert not Journal(rack_name).exists
    assert not list(netns.NAMED.glob(f"{rack_name}-*"))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--loads", "0"), "'0' is not a load"),
        (("--loads", "1e-30"), "'1e-30' is not a load"),
        (("--loads", "2.5"), "'2.5' is not a load"),
        (("--loads", ""), "'' is not a load"),
        (("--loads", "nan"), "'nan' is not a load"),
        (("--service", "foo"), "unknown kind 'foo'"),
        (("--service", "exp:1e30us"), "is too long"),
        (("--jitter", "1x1e30"), "is too long"),
        (("--jitter", "2x15"), "not a probability"),
        (("--duration", "-1"), "is not a duration"),
        (("--duration", "1e99s"), "longer than an hour"),
        (("--duration", "1e999s"), "is too long"),
        (("--warmup", "2000min"), "longer than an hour"),
        (("--time-scale", "nan"), "--time-scale nan is out of range"),
        (("--repeats", "0"), "--repeats 0 is out of range"),
        (("--repeats", "9999999999999999999"), "is out of range"),
        (("--seed", "-1"), "--seed -1 is out of range"),
        (("--schemes", ""), "unknown scheme ''"),
        (("--json", "/"), "cannot write '/'"),
        (("--json", "/proc/x.json"), "cannot write '/proc/x.json'"),
        (("--json", "/no/such/x.json"), "cannot write '/no/such/x.json'"),
        (("--out", "/etc/hostname"), "'/etc/hostname' is no directory"),
        (("--out", "/proc"), "cannot write '/proc'"),
    ],
)
def test_run_refuses_bad_input_before_anything_is_built(
    rack_name: str, arguments: tuple[str, ...], error: str
) -> None:
    result = CliRunner().invoke(main, ["rack", "run", "--name", rack_name, *arguments])
    assert result.exit_code == 2, result.output
    lines = result.output.splitlines()
    assert len(lines) == 2 and lines[1].startswith("hint: "), lines
    assert lines[0].startswith("error: ") and error in lines[0]
    assert not Journal(rack_name).exists
