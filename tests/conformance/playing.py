# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plays a scenario on a target and compares every byte, counter and table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scapy.layers.l2 import Ether

from netclone_host.model.checksum import seal_at_egress
from netclone_host.model.packet import MAX_GROUPS, parse
from tests.conformance.scenario import Scenario, Step, Tables


@dataclass
class Seen:
    """What a target did with one frame."""

    frames: list[tuple[int, bytes]]
    counters: dict[str, int]


class Target(Protocol):
    """Something that claims to be a switch, a server or a client."""

    def start(self, scenario: Scenario) -> None:
        """Take on the scenario's role, configuration and tables."""

    def feed(self, step: Step) -> Seen:
        """Give it the step's frame."""

    def tables(self) -> Tables:
        """Its tables now, in the form of the corpus."""


def play(target: Target, scenario: Scenario) -> None:
    target.start(scenario)
    for number, step in enumerate(scenario.steps, start=1):
        seen = target.feed(step)
        compare(f"{scenario.name}, step {number}", scenario, step, seen)
    now, expected = target.tables(), scenario.after
    for name, table in expected.items():
        assert normal(now[name]) == normal(table), f"{scenario.name}: table {name} afterwards"


def compare(where: str, scenario: Scenario, step: Step, seen: Seen) -> None:
    expected = step.out
    if step.chosen and len(seen.frames) == 1:
        expected = [(step.out[0][0], with_choice_of(seen.frames[0][1], step, scenario))]
    assert seen.counters == step.counters, f"{where}: counters"
    ours, theirs = sorted(expected), sorted(seen.frames)
    assert [port for port, _ in theirs] == [port for port, _ in ours], (
        f"{where}: ports {[port for port, _ in theirs]}, not {[port for port, _ in ours]}"
    )
    for (port, want), (_, got) in zip(ours, theirs, strict=True):
        assert got == want, f"{where}: frame out of port {port}\n{difference(want, got)}"


def with_choice_of(seen: bytes, step: Step, scenario: Scenario) -> bytes:
    """The frame that was expected, with the GRP and IDX that the target chose.

    They must be in range; everything else, checksum included, must follow from them.
    """
    tables, ports = int(scenario.config["filter_tables"]), scenario.config["ports"]
    theirs = parse(seen, ports, MAX_GROUPS, 256)
    assert 1 <= theirs.grp <= scenario.config["n_groups"] and theirs.idx < tables
    before = parse(step.frame, ports, MAX_GROUPS, 256, blank_allowed=True)
    after = before.copy()
    after.grp, after.idx = theirs.grp, theirs.idx
    seal_at_egress(before, after, step.offloaded)
    return bytes(after.frame)


def normal(table: object) -> object:
    """Tables are sets of entries: their order and the writing of numbers mean nothing,
    and a server's state of 0 is as good as none."""
    if isinstance(table, list):
        return sorted(
            tuple(int(x, 16) if isinstance(x, str) else x for x in entry) for entry in table
        )
    if isinstance(table, dict):
        return {key: value for key, value in table.items() if value != 0}
    return table


def difference(want: bytes, got: bytes) -> str:
    at = [i for i, (a, b) in enumerate(zip(want, got, strict=False)) if a != b]
    return (
        f"bytes {at} differ, {len(want)} expected, {len(got)} came\n"
        f"expected {want.hex()}\n{Ether(want)!r}\ncame     {got.hex()}\n{Ether(got)!r}"
    )
