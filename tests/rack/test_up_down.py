# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `rack up` makes, and that `rack down` leaves nothing of it, whatever happened between."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netclone_host import crash_points
from netclone_host.attach import pins
from netclone_host.attach.journal import attachments, damaged
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.rack import build, programs, status
from netclone_host.rack.journal import Journal, Step, rack_names
from netclone_host.rack.plan import Plan, default_topology, make_plan


def namespaces_of(rack: str) -> list[str]:
    """Names below /run/netns that belong to the rack."""
    return sorted(path.name for path in netns.NAMED.glob(f"{rack}-*"))


def plan_of_two(rack: str) -> Plan:
    """Two servers and a client."""
    return make_plan(rack, default_topology(2, 1))


def steps_of_up(rack: str, options: programs.Options | None) -> list[str]:
    """Names of all steps, by an up that succeeds."""
    steps: list[str] = []
    with watched(steps.append):
        build.up(plan_of_two(rack), options)
    build.down(rack)
    return steps


@contextmanager
def watched(on_step: Callable[[str], None]) -> Iterator[None]:
    """`on_step` is called at every step within the block."""
    crash_points.on_step = on_step
    try:
        yield
    finally:
        crash_points.on_step = None


def crash_at(rack: str, options: programs.Options | None, n: int) -> None:
    """Run `rack up` in a process that is killed at its n-th step (from 0)."""
    child = os.fork()
    if child == 0:
        reached = 0

        def count(_: str) -> None:
            nonlocal reached
            if reached == n:
                os.kill(os.getpid(), signal.SIGKILL)
            reached += 1

        crash_points.on_step = count
        try:
            build.up(plan_of_two(rack), options)
        finally:
            os._exit(1)
    _, status_word = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status_word) == -signal.SIGKILL


def test_up_then_down_leaves_nothing(rack_name: str) -> None:
    before = namespaces_of("")
    plan = make_plan(rack_name, default_topology(2, 1))
    build.up(plan, None)
    assert namespaces_of(rack_name) == [f"{rack_name}-{n}" for n in ("c1", "s1", "s2", "sw")]
    assert rack_name in rack_names()
    assert status.plan_of(rack_name) == plan
    left = build.down(rack_name)
    assert left is not None
    assert (left.namespaces, left.processes) == ([], {})
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


def assert_clear(rack: str) -> None:
    """Nothing of the rack is left: no namespace, no journal, no attachment, no pin."""
    assert namespaces_of(rack) == []
    assert rack not in rack_names()


def test_a_crash_at_any_step_is_cleared_by_down(rack_name: str) -> None:
    steps = steps_of_up(rack_name, None)
    assert len(steps) == 4 * 3 + 1
    for n in range(len(steps)):
        crash_at(rack_name, None, n)
        complete = n == len(steps) - 1
        assert Journal(rack_name).complete == complete
        if not complete:
            with pytest.raises(UserError, match="half built"):
                status.plan_of(rack_name)
            with pytest.raises(UserError, match="half built"):
                build.up(plan_of_two(rack_name), None)
        assert build.down(rack_name) is not None
        assert_clear(rack_name)


def test_a_crash_while_attaching_leaves_no_pin_and_no_journal(rack_name: str) -> None:
    options = programs.Options()
    steps = steps_of_up(rack_name, options)
    # Where each kind of thing comes last: most is there then. tests/bpf has every step.
    kinds = ("journal", "egress-eth0", "pin-egress-eth0", "link-s1", "pin-link-s1", "complete")
    last = {kind: len(steps) - 1 - steps[::-1].index(kind) for kind in kinds}
    for n in last.values():
        crash_at(rack_name, options, n)
        inodes = {
            record["identity"]["inode"]
            for record in Journal(rack_name).records()
            if record["step"] == Step.NETNS_DONE
        }
        assert build.down(rack_name) is not None
        assert_clear(rack_name)
        assert len(inodes) == 4
        assert not any(attachments(inode) for inode in inodes)
        assert not any((pins.root() / f"net-{inode}").exists() for inode in inodes)


def test_damaged_and_lost_journals_of_programs_are_cleared_too(rack_name: str) -> None:
    plan = plan_of_two(rack_name)
    build.up(plan, programs.Options())
    inodes = []
    for node, text in ((plan.nodes[0], "{"), (plan.nodes[1], None), (plan.switches[0], "[]")):
        with netns.entered(node.netns):
            inodes.append(netns.current().inode)
            (attachment,) = attachments(inodes[-1])
        if text is None:
            attachment.path.unlink()
        else:
            attachment.path.write_text(text)
    nodes = status.describe(rack_name)["nodes"]
    assert [entry["attached"] for entry in nodes].count(True) == 1
    assert build.down(rack_name) is not None
    assert_clear(rack_name)
    assert not any(damaged(inode) for inode in inodes)
    assert not any((pins.root() / f"net-{inode}").exists() for inode in inodes)


def test_a_half_made_namespace_and_a_torn_journal_are_cleared(rack_name: str) -> None:
    journal = Journal(rack_name)
    journal.begin()
    journal.record(Step.NETNS, name=f"{rack_name}-sw")
    netns.path_of(f"{rack_name}-sw").touch()  # a crash between the file and the mount
    with journal.path.open("a") as file:
        file.write('{"step": "net')
    left = build.down(rack_name)
    assert left is not None
    assert namespaces_of(rack_name) == []


def test_a_failing_step_is_undone_at_once(rack_name: str) -> None:
    def fail_at_last(step: str) -> None:
        if step.startswith(f"rack-{Step.UP}"):
            raise OSError("no room")

    with watched(fail_at_last), pytest.raises(OSError, match="no room"):
        build.up(plan_of_two(rack_name), programs.Options())
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
