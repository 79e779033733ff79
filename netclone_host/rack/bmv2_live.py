# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A rack's running simple_switch: its counters, and changes of its settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from netclone_host import counters
from netclone_host.control.backend import apply
from netclone_host.control.p4.bmv2 import Bmv2Switch
from netclone_host.control.p4.bmv2_cli import RuntimeCli, parse_counter
from netclone_host.control.p4.plan import BMV2, p4_plan
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.rack import bmv2
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan

_OF_CLONE = {"clone_sent", "clone_lost"}
"""Fates of a clone, which an XDP switch counts at its other hook."""


def require_running(plan: Plan) -> None:
    """UserError if the rack's simple_switch has ended."""
    switch = plan.switches[0].netns
    if not bmv2.processes(switch, Journal(plan.name).directory):
        raise UserError(
            f"simple_switch of the rack '{plan.name}' has ended",
            hint=f"'netclone-host rack down --name {plan.name}' removes the rest",
        )


class Counters:
    """The program's counters, read through one command line that is kept open."""

    def __init__(self, plan: Plan) -> None:
        self._switch = plan.switches[0]
        self._cli = RuntimeCli()

    def close(self) -> None:
        self._cli.close()

    def read(self) -> dict[str, int]:
        """`<switch>.<hook>.<reason>` -> packets, named as an XDP switch's; zeros left out."""
        names = counters.names()
        with netns.entered(self._switch.netns):
            texts = self._cli.run(
                [f"counter_read SwitchIngress.reasons {index}" for index in range(len(names))]
            )
        values = counters.nonzero(counters.by_name([parse_counter(text) for text in texts]))
        return {
            f"{self._switch.name}.{_hook(name).label}.{name}": value
            for name, value in values.items()
        }


def _hook(name: str) -> counters.Hook:
    return counters.Hook.CLONE if name in _OF_CLONE else counters.Hook.INGRESS


@contextmanager
def switch_as(plan: Plan, *, racksched: bool, cloning: bool, reserve: bool) -> Iterator[None]:
    """Change these settings within the block. UserError for a rule that the program lacks."""
    topology = bmv2.numbered(plan)
    wanted = dataclasses.replace(
        topology,
        switch=dataclasses.replace(
            topology.switch, racksched=racksched, cloning=cloning, reserve=reserve
        ),
    )
    desired, before = p4_plan(wanted, BMV2), p4_plan(topology, BMV2)
    with RuntimeCli() as cli:
        with netns.entered(plan.switches[0].netns):
            apply(Bmv2Switch(cli), desired)
        try:
            yield
        finally:
            with netns.entered(plan.switches[0].netns):
                apply(Bmv2Switch(cli), before)
