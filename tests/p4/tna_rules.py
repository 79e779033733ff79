# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the TNA program does other than the corpus says (docs/p4.md), and how the corpus's
tables lie in its registers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any

from netclone_host.control.entries import Action, Key, Plan
from netclone_host.control.p4.plan import TOFINO
from tests.conformance.scenario import Scenario, Step
from tests.p4 import scenario_plan
from tests.p4.scenario_plan import LINUX

_ID_MASK = 0xFFFFFFFF
_SLOT_MASK = (1 << 17) - 1
_CLIENT_ID_VALID, _MULTI = 1 << 57, 1 << 58

# Scenarios by what their names match -> the rule of docs/p4.md's table that tells them apart.
_DIFFERENCES = {
    r"(?!response-partial-to-linux).*-partial.*|.*-zero-ipv6": "checksums of local sockets",
    r"runt-.*|ipv6-runt.*|tcp-runt": "a frame cut short is dropped by the parser",
    r"write-vlan": "hosts are entries, and tags mean nothing to them",
    r"multi-(cloned|cloned-although-busy-now|cloned-turned|out-of-order|two-requests"
    r"|racksched-second-stored|racksched-stays-with-second|state-changes-between"
    r"|past-self-of-that-packet)|racksched-alone-multi-packet": "no cloned-request table",
    r"tables-last-of-(4|16)|multi-response-4-packets": "two filter tables",
}

# The same where a slot holds REQ_ID alone.
_NARROW = (
    r"client-id-zero-zero|multi-response-(longer-than-tables|interleaved|255-packets)",
    "narrow fingerprints",
)

Frames = list[tuple[int, bytes]]


def difference(scenario: Scenario, *, wide: bool = False) -> str:
    """Why the program plays this scenario otherwise; empty if it does not. `wide`: it was built
    with -DNETCLONE_WIDE_FINGERPRINTS."""
    for pattern, reason in (*_DIFFERENCES.items(), *([] if wide else [_NARROW])):
        if re.fullmatch(pattern, scenario.name):
            return reason
    return ""


def hosts_of(scenario: Scenario) -> dict[str, int]:
    """MAC -> port. A Tofino does not learn hosts: all that the scenario knows are entries."""
    return {**scenario.before["fdb"], **scenario.after["fdb"]}


def plan_of(scenario: Scenario) -> Plan:
    plan = scenario_plan.plan_of(scenario, TOFINO)
    entries = dict(plan.entries)
    for mac, port in hosts_of(scenario).items():
        key = Key("SwitchIngress.hosts.hosts", (("dst_addr", mac),))
        entries[key] = Action("to_port", (("port", port),))
    return dataclasses.replace(plan, entries=entries)


def as_the_corpus_says(frames: Frames, step: Step, hosts: dict[str, int]) -> Frames:
    """What passes on untouched leaves by the port of its destination, where the corpus says
    "the node's own stack"."""
    passed = hosts.get(step.frame[:6].hex(":"), LINUX)
    if frames == [(passed, step.frame)] and step.out == [(LINUX, step.frame)]:
        return list(step.out)
    return frames


@dataclasses.dataclass(frozen=True)
class Cell:
    """Where a fingerprint lies: it is told by the table, the slot and REQ_ID, which is held."""

    idx: int
    slot: int
    req_id: int

    @property
    def register(self) -> str:
        return f"SwitchIngress.filter.filter_{self.idx}.filter"


def cell(idx: int, fingerprint: int) -> Cell:
    """p4/tna/fingerprint.p4"""
    req_id, mix = fingerprint & _ID_MASK, 0
    if fingerprint & _CLIENT_ID_VALID:
        mix = 1 << 16 | fingerprint >> 32 & 0xFFFF
    elif fingerprint & _MULTI:
        mix = (fingerprint >> 48 & 0xFF) << 8 | 0x80
    return Cell(idx, (req_id ^ mix) & _SLOT_MASK, req_id)


def cells(filters: Iterable[list[Any]]) -> Iterator[Cell]:
    for idx, _, word in filters:
        yield cell(idx, int(word, 16))


def filters_of(scenario: Scenario, cells_now: set[Cell]) -> list[list[Any]]:
    """The corpus's form of what the registers hold. A cell that is none of the scenario's is
    shown as the fingerprint of a lone REQ_ID."""
    known = [*scenario.before["filter"], *scenario.after["filter"]]
    names = {cell(idx, int(word, 16)): [idx, slot, word] for idx, slot, word in known}
    return [
        names.get(found, [found.idx, found.slot, hex(1 << 56 | found.req_id)])
        for found in cells_now
    ]
