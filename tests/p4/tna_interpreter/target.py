# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The interpreted pipeline as a target of the conformance corpus."""

from __future__ import annotations

from typing import Any

from netclone_host.control.entries import Plan
from netclone_host.control.p4.plan import TOFINO
from netclone_host.control.p4.schema import numbers_of
from netclone_host.control.p4.tofino import SCHEMAS
from tests.conformance.playing import Seen
from tests.conformance.scenario import Scenario, Step, Tables
from tests.p4 import scenario_plan, tna_rules
from tests.p4.tna_interpreter.externs import Register
from tests.p4.tna_interpreter.pipeline import Member, Pipeline
from tests.p4.tna_interpreter.values import Struct

_SEQUENCE = "SwitchIngress.sequence.sequence"


class TnaTarget:
    """Plays scenarios of the role switch."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def start(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._pipeline.reset()
        write(self._pipeline, tna_rules.plan_of(scenario))
        registers = self._pipeline.registers
        for sid, queue in scenario.before["state"].items():
            registers["SwitchIngress.states.state"].write(int(sid), queue)
            registers["SwitchIngress.states.shadow_state"].write(int(sid), queue)
        registers[_SEQUENCE].write(0, _signed(scenario.before["sequence"]))
        self._filters = _Wide(registers) if _Wide.is_of(registers) else _Narrow(registers)
        self._filters.write(scenario.before["filter"])

    def feed(self, step: Step) -> Seen:
        counter = self._pipeline.counter
        counter.packets.clear()
        frames = self._pipeline.feed(step.port, step.frame)
        hosts = tna_rules.hosts_of(self._scenario)
        names = {number: name for name, number in scenario_plan.REASONS.items()}
        counted = {scenario_plan.hook(names[n]): count for n, count in counter.packets.items()}
        return Seen(tna_rules.as_the_corpus_says(frames, step, hosts), counted)

    def tables(self) -> Tables:
        registers = self._pipeline.registers
        states = registers["SwitchIngress.states.state"].cells
        assert states == registers["SwitchIngress.states.shadow_state"].cells
        return {
            **self._scenario.after,
            "state": {str(sid): queue for sid, queue in states.items()},
            "sequence": registers[_SEQUENCE].read(0) & 0xFFFFFFFF,
            "filter": self._filters.read(self._scenario),
        }


Registers = dict[str, Register]
_TABLES = range(TOFINO.limits.filter_tables)


class _Narrow:
    """FilterT in words of 32 bits."""

    def __init__(self, registers: Registers) -> None:
        self._registers = registers

    def write(self, filters: list[list[Any]]) -> None:
        for cell in tna_rules.cells(filters):
            self._registers[cell.register].write(cell.slot, cell.req_id)

    def read(self, scenario: Scenario) -> list[list[Any]]:
        held = {
            tna_rules.Cell(idx, slot, req_id)
            for idx in _TABLES
            for slot, req_id in self._registers[tna_rules.Cell(idx, 0, 0).register].cells.items()
            if req_id
        }
        return tna_rules.filters_of(scenario, held)


class _Wide:
    """FilterT with whole fingerprints: a table is two registers."""

    def __init__(self, registers: Registers) -> None:
        self._registers = registers

    @staticmethod
    def is_of(registers: Registers) -> bool:
        return _Wide._name(0, high=False) in registers

    @staticmethod
    def _name(idx: int, *, high: bool) -> str:
        return f"SwitchIngress.filter.filter_{idx}.{'high' if high else 'low'}.filter"

    def write(self, filters: list[list[Any]]) -> None:
        for idx, _, word in filters:
            number = int(word, 16)
            high, slot = divmod(scenario_plan.slot_of(number), 1 << 16)
            pair = Struct(id=number & 0xFFFFFFFF, mark=number >> 32)
            self._registers[self._name(idx, high=bool(high))].write(slot, pair)

    def read(self, scenario: Scenario) -> list[list[Any]]:
        return [
            [idx, high << 16 | slot, hex(pair["mark"] << 32 | pair["id"])]
            for idx in _TABLES
            for high in (False, True)
            for slot, pair in self._registers[self._name(idx, high=high)].cells.items()
            if pair["mark"]
        ]


def _signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def _signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def _filter(idx: int) -> str:
    return tna_rules.Cell(idx, 0, 0).register


def write(pipeline: Pipeline, plan: Plan) -> None:
    """What the control plane would write, through the names that it uses."""
    for key, action in plan.entries.items():
        schema = SCHEMAS[key.table]
        match = numbers_of(key.match, schema.match) if key.match else ()
        values = list(numbers_of(action.params, schema.actions.get(action.name, ())))
        pipeline.tables[key.table].write(match, schema.full_action(action.name), values)
    for group, replicas in plan.multicast.items():
        pipeline.tm.groups[group] = tuple(Member(r.port, r.rid) for r in replicas)
