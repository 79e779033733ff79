# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `rack up` makes, and that `rack down` leaves nothing of it, whatever happened between."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from netclone_host.errors import UserError
from netclone_host.rack import build, netns, status
from netclone_host.rack.journal import Journal, Record, Step, rack_names
from netclone_host.rack.plan import Plan, default_topology, make_plan


def namespaces_of(rack: str) -> list[str]:
    """Names below /run/netns that belong to the rack."""
    return sorted(path.name for path in netns.NETNS_DIR.glob(f"{rack}-*"))


def crash_after_record(rack: str, n: int, before_step: bool) -> int:
    """Run `rack up` in a process that dies at the n-th record; its exit status.

    `before_step`: right after the record, so that the step it announces has not begun;
    else right before the next record, when the step is done.
    """
    program = f"""
import os
from netclone_host.rack import build
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import default_topology, make_plan
records = 0
def count(_):
    global records
    records += 1
    if records == {n}:
        os._exit(77)
plain_record = Journal.record
def record(self, step, **values):
    if not {before_step} and records == {n} - 1:
        os._exit(77)
    plain_record(self, step, **values)
Journal.record = record
Journal.on_record = staticmethod(count)
build.up(make_plan({rack!r}, default_topology(2, 1)), None)
"""
    return subprocess.run([sys.executable, "-c", program], check=False).returncode


def test_up_then_down_leaves_nothing(rack_name: str) -> None:
    before = namespaces_of("")
    plan = make_plan(rack_name, default_topology(2, 1))
    build.up(plan, None)
    assert namespaces_of(rack_name) == [f"{rack_name}-{n}" for n in ("c1", "s1", "s2", "sw")]
    assert rack_name in rack_names()
    assert status.plan_of(rack_name) == plan
    left = build.down(rack_name)
    assert left is not None
    assert (left.namespaces, left.processes, left.errors) == ([], {}, [])
    assert namespaces_of(rack_name) == []
    assert rack_name not in rack_names()
    assert set(before) <= set(namespaces_of(""))
    assert build.down(rack_name) is None


def test_a_second_up_is_refused_and_changes_nothing(rack_name: str) -> None:
    plan = make_plan(rack_name, default_topology(2, 1))
    build.up(plan, None)
    with pytest.raises(UserError, match="is up already"):
        build.up(make_plan(rack_name, default_topology(3, 1)), None)
    assert status.plan_of(rack_name) == plan
    assert len(namespaces_of(rack_name)) == 4


def test_a_foreign_namespace_is_neither_used_nor_removed(rack_name: str) -> None:
    foreign = f"{rack_name}-s2"
    netns.create(foreign)
    try:
        with pytest.raises(UserError, match=f"namespace '{foreign}' already"):
            build.up(make_plan(rack_name, default_topology(2, 1)), None)
        assert namespaces_of(rack_name) == [foreign]
        assert build.down(rack_name) is None
        assert netns.is_namespace(foreign)
    finally:
        netns.remove(foreign)


def test_a_namespace_made_later_under_the_name_is_left_alone(rack_name: str) -> None:
    plan = make_plan(rack_name, default_topology(2, 1))
    build.up(plan, None)
    name = plan.namespace("s1")
    # Keep the old one alive: its inode number must not be given to the new one.
    with netns.path_of(name).open():
        netns.remove(name)
        netns.create(name)
    try:
        left = build.down(rack_name)
        assert left is not None
        assert left.namespaces == [name]
        assert namespaces_of(rack_name) == [name]
    finally:
        netns.remove(name)


@pytest.mark.parametrize("before_step", [True, False])
def test_a_crash_at_any_record_is_cleared_by_down(rack_name: str, before_step: bool) -> None:
    n_records = 4 * 2 + 1
    for n in range(1, n_records + 1):
        assert crash_after_record(rack_name, n, before_step) == 77
        assert Journal(rack_name).exists
        complete = before_step and n == n_records
        assert Journal(rack_name).complete == complete
        if not complete:
            with pytest.raises(UserError, match="half built"):
                status.plan_of(rack_name)
            with pytest.raises(UserError, match="half built"):
                build.up(make_plan(rack_name, default_topology(2, 1)), None)
        assert build.down(rack_name) is not None
        assert namespaces_of(rack_name) == []
        assert rack_name not in rack_names()


def test_a_half_made_namespace_and_a_torn_journal_are_cleared(rack_name: str) -> None:
    journal = Journal(rack_name)
    journal.begin()
    journal.record(Step.NETNS, name=f"{rack_name}-sw")
    netns.path_of(f"{rack_name}-sw").touch()  # a crash between the file and the mount
    with journal.path.open("a") as file:
        file.write('{"step": "net')
    left = build.down(rack_name)
    assert left is not None
    assert left.errors == []
    assert namespaces_of(rack_name) == []


def test_a_failing_step_is_undone_at_once(rack_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_at_last(record: Record) -> None:
        if record["step"] == Step.UP:
            raise OSError("no room")

    monkeypatch.setattr(Journal, "on_record", staticmethod(fail_at_last))
    with pytest.raises(OSError, match="no room"):
        build.up(make_plan(rack_name, default_topology(2, 1)), None)
    assert namespaces_of(rack_name) == []
    assert not Journal(rack_name).exists


def test_processes_inside_are_named_and_not_killed(rack_name: str) -> None:
    build.up(make_plan(rack_name, default_topology(2, 1)), None)
    with netns.entered(f"{rack_name}-s1"), subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            left = build.down(rack_name)
            assert left is not None
            # The test itself is inside as well.
            assert sleeper.pid in left.processes[f"{rack_name}-s1"]
            assert sleeper.poll() is None
            assert Path("/proc/thread-self/net/dev").read_text().count("eth0") == 0
        finally:
            sleeper.kill()
    assert namespaces_of(rack_name) == []


def test_racks_live_side_by_side(rack_name: str, plain_rack: Plan) -> None:
    build.up(make_plan(rack_name, default_topology(2, 1)), None)
    assert {rack_name, plain_rack.name} <= set(rack_names())
    build.down(rack_name)
    assert all(netns.is_namespace(member.netns) for member in plain_rack.members)


def test_not_root(rack_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody: Callable[[], int] = lambda: 1000  # noqa: E731
    monkeypatch.setattr(os, "geteuid", nobody)
    with pytest.raises(UserError, match="needs root"):
        build.up(make_plan(rack_name, default_topology(2, 1)), None)
    with pytest.raises(UserError, match="needs root"):
        build.down(rack_name)
    monkeypatch.undo()
