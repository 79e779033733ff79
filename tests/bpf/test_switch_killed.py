# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A change of a running switch is killed at each step: whatever is left, it shows, and the next
change mends it. A polite request to end is heard when the tables are whole again."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from netclone_host import crash_points
from netclone_host.attach.settings import SwitchTables
from netclone_host.attach.status import attached_to
from netclone_host.attach.table_access import pinned_map, pinned_table
from netclone_host.attach.tables import MapName, SwitchConfig, SwitchFlag
from netclone_host.cli import main
from netclone_host.control.xdp import hold, live, notices
from netclone_host.control.xdp.notices import Notices
from netclone_host.errors import UserError
from netclone_host.kernel import maps
from netclone_host.topology import Topology, group_pairs

from .conftest import TOPOLOGY
from .crashes import die_at, steps_of
from .running_switch import THIRD, bring, config, known_of, remember, timed

HOLD = SwitchFlag.HOLD
HELD_STEPS = ("held", "clone-ports", "groups")
STEPS = (
    *("addresses", *HELD_STEPS, "config"),
    *("deleted-nc_clone_ports", "deleted-nc_groups", "deleted-nc_servers"),
)
THIRD_SERVER = ("--ip4", "10.0.1.103", "--mac", "02:00:00:00:01:67", "--switch-port", "p2")
SECOND_SERVER = ("--ip4", "10.0.1.102", "--mac", "02:00:00:00:01:66", "--switch-port", "p1")


def switch(*words: str) -> Result:
    return CliRunner().invoke(main, ("switch", *words))


def held_by_hand() -> None:
    with pinned_table(attached_to("p0"), SwitchConfig) as configs:
        value = configs[0]
        value.flags |= HOLD
        configs[0] = value


def smaller(rack: Topology) -> Topology:
    return dataclasses.replace(rack, servers=(rack.servers[0], rack.servers[2]))


def ports_of_groups() -> list[tuple[str, str]]:
    """What the devmaps of the groups in range say."""
    found = []
    with pinned_map(attached_to("p0"), MapName.CLONE_PORTS) as outer:
        for grp in range(1, config().n_groups + 1):
            devmap = maps.map_by_id(outer.number(grp))
            entries = maps.devmap_values(devmap)
            os.close(devmap.fd)
            assert all(entry.prog_fd for entry in entries)
            first, second = (socket.if_indextoname(entry.ifindex) for entry in entries)
            found.append((first, second))
    return found


def in_child(action: Callable[[], object]) -> int:
    """Exit status of a child that runs the action."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            action()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            os._exit(status)
    _, result = os.waitpid(child, 0)
    assert os.WIFEXITED(result)
    return os.WEXITSTATUS(result)


def test_a_change_killed_at_each_step_is_mended_by_the_next(rack: Topology) -> None:
    steps = steps_of(lambda: bring(smaller(rack)))
    assert tuple(steps) == STEPS
    assert bring(rack) > 0
    for position, step in enumerate(STEPS):
        die_at(position, lambda: bring(smaller(rack)))
        # Nothing is cloned while a group and its devmap may disagree.
        assert bool(config().flags & HOLD) == (step in HELD_STEPS)
        assert switch("set", "--no-racksched").exit_code == 0
        assert not config().flags & HOLD
        assert json.loads(switch("show", "--json").output)["cloning_held"] is False
        bring(smaller(rack))
        assert ports_of_groups() == [("p0", "p2"), ("p2", "p0")]
        assert bring(smaller(rack)) == 0
        die_at(position, lambda: bring(rack))
        bring(rack)
        assert not config().flags & HOLD
        assert ports_of_groups() == [
            *(("p0", "p1"), ("p1", "p0"), ("p0", "p2"), ("p2", "p0")),
            *(("p1", "p2"), ("p2", "p1")),
        ]
        assert bring(rack) == 0


def killed_at(step: str, *words: str) -> bool:
    """Whether the verb came to the step, and was killed there."""
    child = os.fork()
    if child == 0:

        def die(reached: str) -> None:
            if reached == step:
                os.kill(os.getpid(), signal.SIGKILL)

        crash_points.on_step = die
        try:
            main(("switch", *words))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def look() -> tuple[Notices, SwitchTables]:
    """What `show` says, without counting the filter tables each time."""
    with live.opened(attached_to("p0")) as opened:
        return notices.of(opened), opened.tables()


def servers_now() -> list[int]:
    return sorted(look()[1].servers)


def assert_whole() -> None:
    """Groups, devmaps and servers agree, cloning goes on, and nothing is left of old groups."""
    noticed, tables = look()
    assert not noticed.sentences()
    pairs = group_pairs(sorted(tables.servers))
    assert list(tables.groups.values()) == pairs
    assert ports_of_groups() == [(f"p{one}", f"p{other}") for one, other in pairs]
    with pinned_map(attached_to("p0"), MapName.GROUPS) as groups:
        assert not any(groups.values()[4 * (config().n_groups + 1) :])
    with pinned_map(attached_to("p0"), MapName.CLONE_PORTS) as outer:
        assert outer.lookup(config().n_groups + 1) is None


VERBS = [
    (("remove-server", "1"), ("add-server", "1", *SECOND_SERVER)),
    (("remove-server", "2"), ("add-server", "2", *THIRD_SERVER)),
]


@pytest.mark.parametrize(("remove", "add"), VERBS, ids=["middle", "last"])
def test_verbs_that_were_killed_are_finished_by_repeating_them(
    rack: Topology, remove: tuple[str, ...], add: tuple[str, ...]
) -> None:
    sid = int(remove[1])
    for step in STEPS:
        for words in (remove, add):
            died = killed_at(step, *words)
            assert died or (sid == 2 and step in HELD_STEPS), "the last server's groups are last"
            assert look()[0].cloning_held == (died and step in HELD_STEPS)
            again = switch(*words)
            # Of the last steps nothing is left to do.
            refusal = "already has a server" if words == add else "has no server"
            assert again.exit_code == 0 or refusal in again.output, (step, again.output)
            assert_whole()
            assert (sid in servers_now()) == (words == add)


@pytest.mark.parametrize(("remove", "add"), VERBS, ids=["middle", "last"])
def test_a_setting_settles_what_was_killed(
    rack: Topology, remove: tuple[str, ...], add: tuple[str, ...]
) -> None:
    """With the server or without it, and the switch says which."""
    sid = int(remove[1])
    for step in STEPS:
        for words in (remove, add):
            killed_at(step, *words)
            before, _ = look()
            done = switch("set", "--server-timeout", "90")
            assert done.exit_code == 0, done.output
            assert_whole()
            assert {0, 1, 2} - {sid} <= set(servers_now())
            settled = ", ".join(map(str, servers_now()))
            if before.unfinished:
                said = before.sentences()[-1]
                assert f"settles the switch with servers {settled}" in said, step
                assert done.stderr.endswith(f"is settled now: the servers are {settled}\n")
            else:
                assert done.output == ""
            switch(*words)
            assert_whole()
            assert (sid in servers_now()) == (words == add)


def test_a_server_that_goes_is_never_asked_again_once_it_is_out_of_the_groups(
    rack: Topology,
) -> None:
    """A server of the middle, whose removal shows in the groups: a setting takes it out."""
    for position in range(STEPS.index("groups"), len(STEPS)):
        die_at(position, lambda: main(("switch", "remove-server", "1")))
        assert switch("set", "--no-racksched").exit_code == 0
        assert servers_now() == [0, 2]
        assert switch("add-server", "1", *SECOND_SERVER).exit_code == 0


@pytest.mark.parametrize("step", STEPS[STEPS.index("groups") :])
@pytest.mark.parametrize("added_by", ["verb", "apply"])
def test_nothing_old_holds_for_a_server_that_comes_back_after_a_removal_that_was_killed(
    rack: Topology, step: str, added_by: str
) -> None:
    """With RackSched a state that nothing brings down would keep every request away from it."""
    assert switch("set", "--server-timeout", "1000").exit_code == 0
    remember(0, queue=7, owed=5)
    remember(1, queue=7, owed=5)
    assert killed_at(step, "remove-server", "1")
    if added_by == "verb":
        assert switch("add-server", "1", *SECOND_SERVER).exit_code == 0
    else:
        bring(timed(rack, 1000))
    assert servers_now() == [0, 1, 2]
    assert (known_of(0), known_of(1)) == ((7, 5), (0, 0))


def test_another_verb_starts_from_what_is_settled(rack: Topology) -> None:
    assert switch("remove-server", "2").exit_code == 0
    die_at(0, lambda: main(("switch", "add-server", "2", *THIRD_SERVER)))
    refused = switch("remove-server", "1")
    assert refused.exit_code == 2 and "only one is left" in refused.output
    assert switch("remove-server", "2").exit_code == 0
    assert_whole()
    assert servers_now() == [0, 1]
    die_at(0, lambda: main(("switch", "add-server", "2", *THIRD_SERVER)))
    assert switch("add-server", "2", *THIRD_SERVER).exit_code == 0
    assert_whole()


def test_a_setting_mends_devmaps_that_went_ahead_of_their_groups(rack: Topology) -> None:
    before = ports_of_groups()
    die_at(STEPS.index("clone-ports"), lambda: bring(smaller(rack)))
    assert ports_of_groups() != before
    assert switch("set", "--no-racksched").exit_code == 0
    assert ports_of_groups() == before and not config().flags & HOLD


def test_a_hold_that_was_left_shows_and_apply_ends_it(rack: Topology, tmp_path: Path) -> None:
    path = tmp_path / "rack.toml"
    path.write_text(TOPOLOGY + THIRD)
    assert "held" not in switch("show").output
    held_by_hand()
    text = switch("show").output
    assert "cloning is held" in text and "'netclone-host switch set --no-racksched'" in text
    assert json.loads(switch("show", "--json").output)["cloning_held"] is True
    applied = switch("apply", str(path), "--target", "xdp")
    assert applied.exit_code == 0 and "1 changes written" in applied.output
    assert not config().flags & HOLD
    assert "held" not in switch("show").output


def test_status_says_it_in_the_same_words(rack: Topology) -> None:
    status = ("status", "--json")
    (record,) = json.loads(CliRunner().invoke(main, status).output)
    assert (record["cloning_held"], record["unfinished"], record["notes"]) == (False, False, [])
    for step in ("held", "groups"):
        assert killed_at(step, "remove-server", "1")
        sentences = look()[0].sentences()
        text, listed = switch("show").output, CliRunner().invoke(main, ("status",)).output
        for sentence in sentences:
            assert sentence in text and f"p0: {sentence}" in listed
        (record,) = json.loads(CliRunner().invoke(main, status).output)
        assert record["cloning_held"] and record["notes"] == sentences
        assert record["unfinished"] == (step == "groups")
    assert len(sentences) == 2
    assert switch("remove-server", "1").exit_code == 0
    (record,) = json.loads(CliRunner().invoke(main, status).output)
    assert (record["cloning_held"], record["unfinished"], record["notes"]) == (False, False, [])
    assert (record["settings"]["servers"], record["settings"]["groups"]) == (2, 2)


@pytest.mark.parametrize("verb", [("remove-server", "2"), ("set", "--server-timeout", "90")])
def test_every_change_ends_a_hold(rack: Topology, verb: tuple[str, ...]) -> None:
    held_by_hand()
    assert switch(*verb).exit_code == 0
    assert not config().flags & HOLD


@pytest.mark.parametrize("step", STEPS)
def test_sigterm_in_the_middle_is_heard_at_the_end(rack: Topology, step: str) -> None:
    def terminate(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGTERM)

    def verb() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        crash_points.on_step = terminate
        main(["switch", "remove-server", "1"], standalone_mode=True)

    assert in_child(verb) == 128 + signal.SIGTERM
    assert not config().flags & HOLD and config().n_groups == 2
    assert ports_of_groups() == [("p0", "p2"), ("p2", "p0")]


def test_a_refusal_in_the_middle_keeps_the_hold_and_says_so(
    rack: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = iter((False, True))

    def refuse(_clone_ports: object) -> None:
        if next(waited):
            raise OSError(12, "Cannot allocate memory")

    with monkeypatch.context() as full:
        full.setattr(hold, "_wait_for_programs", refuse)
        with pytest.raises(UserError, match="Cannot allocate memory; cloning is held"):
            bring(smaller(rack))
    assert config().flags & HOLD
    assert bring(smaller(rack)) > 0 and not config().flags & HOLD
