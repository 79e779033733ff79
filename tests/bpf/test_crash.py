# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""attach and detach are killed at every step: what is left, detach clears, and what somebody
else put there stays."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from netclone_host import crash_points, topology
from netclone_host.attach import attach as attach_module
from netclone_host.attach import pins
from netclone_host.attach.attach import AttachRequest, attach
from netclone_host.attach.detach import detach
from netclone_host.attach.loaders.base import LoadedObject, MapSizes
from netclone_host.attach.loaders.libbpf import LibbpfLoader
from netclone_host.attach.roles import Role
from netclone_host.attach.status import attachments
from netclone_host.cli import main
from netclone_host.errors import UserError
from netclone_host.kernel import interfaces, offloads, xdp

from .conftest import TOPOLOGY, ForeignFilter, run
from .crashes import die_at, steps_of

TcState = Callable[[str], str]


def server() -> AttachRequest:
    return AttachRequest(("eth0",), Role.SERVER, server_id=0)


def switch() -> AttachRequest:
    return AttachRequest(("p0", "p1", "p2"), Role.SWITCH, topology=topology.loads(TOPOLOGY))


class LoadedOnce:
    """A loader whose programs go through the verifier once; each attach gets file
    descriptors of its own, and the same maps."""

    name = "libbpf"

    def __init__(self) -> None:
        self._loaded: dict[Role, LoadedObject] = {}

    def load(self, role: Role, sizes: MapSizes) -> LoadedObject:
        if role not in self._loaded:
            self._loaded[role] = LibbpfLoader().load(role, sizes)
        kept = self._loaded[role]
        return LoadedObject(
            {name: os.dup(fd) for name, fd in kept.programs.items()},
            {name: replace(entry, fd=os.dup(entry.fd)) for name, entry in kept.maps.items()},
        )

    def close(self) -> None:
        for loaded in self._loaded.values():
            loaded.close()


@pytest.fixture(autouse=True)
def loaded_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    loader = LoadedOnce()
    monkeypatch.setattr(attach_module, "loader_of", lambda _name: loader)
    yield
    loader.close()


def assert_nothing_left(interfaces: tuple[str, ...]) -> None:
    for interface in interfaces:
        assert xdp.query(socket.if_nametoindex(interface)).programs() == []
    assert attachments() == []
    assert not pins.root().exists()


def situation(name: str, host: str, foreign_filter: ForeignFilter) -> None:
    if name != "untouched":
        run("tc", "qdisc", "add", "dev", host, "clsact")
    if name == "filter":
        foreign_filter(host, "egress", 5)


@pytest.mark.parametrize("before", ["untouched", "clsact", "filter"])
def test_a_host_killed_at_each_step(
    egress: str, host: str, before: str, foreign_filter: ForeignFilter, tc_state: TcState
) -> None:
    situation(before, host, foreign_filter)
    was = tc_state(host)
    steps = steps_of(lambda: attach(server()))
    detach(host)
    on_egress = {"egress-eth0", "pin-egress-eth0"} if egress == "tcx" else {"filter"}
    assert on_egress <= set(steps)
    assert {"journal", "pin-dir", "link-eth0", "pin-link-eth0", "complete"} <= set(steps)
    for position, step in enumerate(steps):
        die_at(position, lambda: attach(server()))
        if step != "complete":
            assert attachments()[0].complete is False
        detach(host)
        assert_nothing_left((host,))
        assert tc_state(host) == was, step


def test_a_switch_killed_at_each_step(switch_ports: list[str]) -> None:
    were = [offloads.of_tags(port) for port in interfaces.find(switch_ports)]
    steps = steps_of(lambda: attach(switch()))
    assert were != [offloads.of_tags(port) for port in interfaces.find(switch_ports)]
    detach("p1")
    expected = {"link-p0", "before-offloads-p1", "offloads-p1", "pin-link-p1", "link-p2"}
    assert expected | {"complete"} <= set(steps)
    for position in range(len(steps)):
        die_at(position, lambda: attach(switch()))
        detach("p1")
        assert_nothing_left(("p0", "p1", "p2"))
        assert were == [offloads.of_tags(port) for port in interfaces.find(switch_ports)]


def test_attach_goes_on_where_a_crash_was(egress: str, host: str, tc_state: TcState) -> None:
    was = tc_state(host)
    steps = steps_of(lambda: attach(server()))
    detach(host)
    for position in range(len(steps) - 1):
        die_at(position, lambda: attach(server()))
        attach(server())
        assert [entry.complete for entry in attachments()] == [True]
        detach(host)
        assert tc_state(host) == was


def test_detach_killed_at_each_step(egress: str, host: str, tc_state: TcState) -> None:
    was = tc_state(host)
    attach(server())
    steps = steps_of(lambda: detach(host))
    for position in range(len(steps)):
        attach(server())
        die_at(position, lambda: detach(host))
        detach(host)
        assert_nothing_left((host,))
        assert tc_state(host) == was


def test_a_failure_at_each_step_leaves_nothing(egress: str, host: str, tc_state: TcState) -> None:
    """Not a crash but an error: attach itself puts everything back."""
    was = tc_state(host)
    steps = steps_of(lambda: attach(server()))
    detach(host)

    class Fault(Exception):
        pass

    for failing in dict.fromkeys(steps):

        def fail(step: str, failing: str = failing) -> None:
            if step == failing:
                raise Fault

        crash_points.on_step = fail
        try:
            with pytest.raises(Fault):
                attach(server())
        finally:
            crash_points.on_step = None
        assert_nothing_left((host,))
        assert tc_state(host) == was


def test_the_environment_names_a_step_too(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    child = os.fork()
    if child == 0:
        os.environ[crash_points.CRASH_AT] = "complete"
        try:
            attach(server())
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    detach(host)
    with pytest.raises(UserError, match="not attached"):
        detach(host)


def signalled_at(step: str, number: signal.Signals, *words: str) -> int:
    """Exit status of `netclone-host` that gets the signal at its step of this name."""
    child = os.fork()
    if child == 0:
        for other in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        crash_points.on_step = lambda reached: (
            os.kill(os.getpid(), number) if reached == step else None
        )
        status = 99
        try:
            main(words)
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_leaves_attach_undone_and_detach_done(
    egress: str, host: str, tc_state: TcState, number: signal.Signals
) -> None:
    was = tc_state(host)
    words = ("attach", host, "--role", "server", "--server-id", "0")
    steps = steps_of(lambda: attach(server()))
    back = steps_of(lambda: detach(host))
    for step in dict.fromkeys(steps):
        assert signalled_at(step, number, *words) == 128 + number, step
        assert_nothing_left((host,))
        assert tc_state(host) == was, step
    for step in back:
        attach(server())
        assert signalled_at(step, number, "detach", host) == 128 + number, step
        assert_nothing_left((host,))
        assert tc_state(host) == was, step
