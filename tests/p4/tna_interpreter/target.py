# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The interpreted pipeline as a target of the conformance corpus."""

from __future__ import annotations

from netclone_host.control.entries import Plan
from netclone_host.control.p4_plan import TOFINO
from netclone_host.control.p4_schema import numbers_of
from netclone_host.control.tofino import SCHEMAS
from tests.conformance.playing import Seen
from tests.conformance.scenario import Scenario, Step, Tables
from tests.p4 import scenario_plan, tna_rules
from tests.p4.tna_interpreter.pipeline import Member, Pipeline

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
        for cell in tna_rules.cells(scenario.before["filter"]):
            registers[cell.register].write(cell.slot, cell.req_id)

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
        held = {
            tna_rules.Cell(idx, slot, req_id)
            for idx in range(TOFINO.limits.filter_tables)
            for slot, req_id in registers[_filter(idx)].cells.items()
            if req_id
        }
        return {
            **self._scenario.after,
            "state": {str(sid): queue for sid, queue in states.items()},
            "sequence": registers[_SEQUENCE].read(0) & 0xFFFFFFFF,
            "filter": tna_rules.filters_of(self._scenario, held),
        }


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
