# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The switch that a ``switch`` verb means: that of this namespace, or of a rack."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from netclone_host.attach import journal, status
from netclone_host.attach.journal import Attachment
from netclone_host.attach.roles import Role
from netclone_host.control.xdp import current_settings, live
from netclone_host.control.xdp.attached import attached_switch
from netclone_host.control.xdp.live import LiveSwitch
from netclone_host.kernel import netns
from netclone_host.rack.plan import Plan, check_rack_name

Switches = list[tuple[str | None, LiveSwitch]]
"""Each with the namespace in which it must be used; None is the present one."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Target:
    """A switch, and its clients as far as they are on this machine."""

    namespaces: tuple[str | None, ...]
    """Namespaces of the switches; None is the present one."""
    client_namespaces: tuple[str, ...] = ()
    plan: Plan | None = None
    """The rack, if it is one."""
    port: str | None = field(default=None)


def target_options(command: _Command) -> _Command:
    """--rack and --port; `target_of` takes both."""
    for option in (
        click.option("--rack", "rack", help="The switch of this rack, and its clients."),
        click.option("--port", "port", help="A port of the switch, if there are several switches."),
    ):
        command = option(command)
    return command


def target_of(rack: str | None, port: str | None) -> Target:
    if rack is None:
        return Target((None,), port=port)
    from netclone_host.rack.status import plan_of

    plan = plan_of(check_rack_name(rack))
    return Target(
        tuple(plan.namespace(switch.name) for switch in plan.switches),
        tuple(node.netns for node in plan.clients),
        plan,
        port,
    )


@contextlib.contextmanager
def _inside(namespace: str | None) -> Iterator[None]:
    if namespace is None:
        yield
    else:
        with netns.entered(namespace):
            yield


@contextlib.contextmanager
def changing_switches(target: Target) -> Iterator[Switches]:
    """`opened_switches` for a change: one change at a time, from reading to writing."""
    with journal.locked(), opened_switches(target) as switches:
        yield switches


@contextlib.contextmanager
def opened_switches(target: Target) -> Iterator[Switches]:
    """All switches of the target, each with the namespace in which it must be used."""
    with contextlib.ExitStack() as stack:
        switches: Switches = []
        for namespace in target.namespaces:
            with _inside(namespace):
                attachment = attached_switch(target.port, "--port")
                switches.append((namespace, stack.enter_context(live.opened(attachment))))
        yield switches


def inside(namespace: str | None) -> contextlib.AbstractContextManager[None]:
    """Where a switch's port names mean something."""
    return _inside(namespace)


def tell_clients(target: Target, n_servers: int) -> int:
    """Set the number of servers at the target's clients; returns how many clients there are."""
    told = 0
    for attachment in _each_client(target):
        live.set_client_servers(attachment, n_servers)
        told += 1
    return told


def all_clients_know(target: Target, n_servers: int) -> bool:
    """Whether the target's clients know that number of servers."""
    return all(
        current_settings.client_servers(attachment) == n_servers
        for attachment in _each_client(target)
    )


def _each_client(target: Target) -> Iterator[Attachment]:
    """The clients of the switch, each while inside its namespace."""
    for namespace in target.client_namespaces:
        with netns.entered(namespace):
            for left in status.remains():
                raise left.error()  # a client that cannot be told
            for attachment in status.attachments():
                if attachment.role == Role.CLIENT and attachment.complete:
                    yield attachment
