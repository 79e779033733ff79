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

from netclone_host.bpf import abi, faults, maps, state
from netclone_host.cli import main
from netclone_host.control import hold
from netclone_host.errors import UserError
from netclone_host.topology import Topology

from .conftest import TOPOLOGY
from .test_crash import die_at, steps_of
from .test_switch_apply import THIRD, bring, config, rack

__all__ = ["rack"]
HOLD = abi.SwitchFlag.HOLD


def switch(*words: str) -> Result:
    return CliRunner().invoke(main, ("switch", *words))


def held_by_hand() -> None:
    with state.pinned_map(state.attached_to("p0"), "nc_switch_cfg") as table:
        value = config()
        value.flags |= HOLD
        table.update(0, value)


def smaller(rack: Topology) -> Topology:
    return dataclasses.replace(rack, servers=(rack.servers[0], rack.servers[2]))


def ports_of_groups() -> list[tuple[str, str]]:
    """What the devmaps of the groups in range say."""
    found = []
    with state.pinned_map(state.attached_to("p0"), "nc_clone_ports") as outer:
        for grp in range(1, config().n_groups + 1):
            devmap = maps.map_by_id(int.from_bytes(outer.lookup(grp) or b"", "little"))
            entries = [
                abi.DevmapValue.from_buffer_copy(devmap.lookup(position) or bytes(8))
                for position in (0, 1)
            ]
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
    assert steps == ["held", "clone-ports", "groups"]
    assert bring(rack) > 0
    for position in range(len(steps)):
        die_at(position, lambda: bring(smaller(rack)))
        assert config().flags & HOLD, "nothing is cloned while a group and its devmap may disagree"
        assert switch("set", "--no-racksched").exit_code == 0
        assert not config().flags & HOLD
        assert json.loads(switch("show", "--json").output)["cloning_held"] is False
        assert bring(smaller(rack)) > 0
        assert ports_of_groups() == [("p0", "p2"), ("p2", "p0")]
        assert bring(smaller(rack)) == 0
        die_at(position, lambda: bring(rack))
        assert bring(rack) > 0
        assert not config().flags & HOLD
        assert ports_of_groups() == [
            *(("p0", "p1"), ("p1", "p0"), ("p0", "p2"), ("p2", "p0")),
            *(("p1", "p2"), ("p2", "p1")),
        ]
        assert bring(rack) == 0


def test_verbs_that_were_killed_are_finished_by_repeating_them(rack: Topology) -> None:
    remove = ("switch", "remove-server", "1")
    add = ("switch", "add-server", "1", "--ip4", "10.0.1.102", "--mac", "02:00:00:00:01:66")
    add += ("--switch-port", "p1")
    full = json.loads(switch("show", "--json").output)["groups"]
    for position in range(3):
        for words in (remove, add):
            die_at(position, lambda words=words: main(words))
            record = json.loads(switch("show", "--json").output)
            assert record["cloning_held"]
            # A server that is taken out stays in the tables until the groups do without it.
            assert record["unfinished"] or words == remove
            assert CliRunner().invoke(main, words).exit_code == 0
            record = json.loads(switch("show", "--json").output)
            assert not record["cloning_held"] and not record["unfinished"]
        assert record["groups"] == full
    again = CliRunner().invoke(main, add)
    assert again.exit_code == 2 and "already has a server 1" in again.output


def test_a_setting_mends_devmaps_that_went_ahead_of_their_groups(rack: Topology) -> None:
    before = ports_of_groups()
    die_at(1, lambda: bring(smaller(rack)))
    assert ports_of_groups() != before
    assert switch("set", "--no-racksched").exit_code == 0
    assert ports_of_groups() == before and not config().flags & HOLD


def test_a_hold_that_was_left_shows_and_apply_ends_it(rack: Topology, tmp_path: Path) -> None:
    path = tmp_path / "rack.toml"
    path.write_text(TOPOLOGY + THIRD)
    assert "held" not in switch("show").output
    held_by_hand()
    shown = switch("show").output
    assert "cloning is held" in shown and "'netclone-host switch set --no-racksched'" in shown
    assert json.loads(switch("show", "--json").output)["cloning_held"] is True
    applied = switch("apply", str(path), "--target", "xdp")
    assert applied.exit_code == 0 and "1 changes written" in applied.output
    assert not config().flags & HOLD
    assert "held" not in switch("show").output


@pytest.mark.parametrize("verb", [("remove-server", "2"), ("set", "--server-timeout", "9")])
def test_every_change_ends_a_hold(rack: Topology, verb: tuple[str, ...]) -> None:
    held_by_hand()
    assert switch(*verb).exit_code == 0
    assert not config().flags & HOLD


@pytest.mark.parametrize("step", ["held", "clone-ports", "groups"])
def test_sigterm_in_the_middle_is_heard_at_the_end(rack: Topology, step: str) -> None:
    def terminate(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGTERM)

    def verb() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        faults.on_step = terminate
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
