# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Tofino model as a target of the conformance corpus. Entries are written by the project's
own BfRt back end; registers and counters are read and written here."""

from __future__ import annotations

import time
from typing import Any

from netclone_host.control.backend import apply
from netclone_host.control.p4.tofino import TofinoSwitch
from tests.conformance.playing import Seen
from tests.conformance.scenario import Scenario, Step, Tables
from tests.p4 import scenario_plan, tna_rules
from tests.p4.tofino_model import Running

_STATE = "pipe.SwitchIngress.states.state"
_SHADOW_STATE = "pipe.SwitchIngress.states.shadow_state"
_SEQUENCE = "pipe.SwitchIngress.sequence.sequence"
_REASONS = "pipe.SwitchIngress.reasons"
_INDEX = "$REGISTER_INDEX"
_PACKET_S, _QUIET_S = 5.0, 0.3

# A frame that no rule knows, to an address that is nobody's: flooded, to port 0 alone, when
# everything before it is done.
_MARKER_PORT = 9
_MARKER = bytes.fromhex("02000000ffff02000000fffe88b5") + bytes(46)


class ModelTarget:
    """Plays scenarios of the role switch."""

    def __init__(self, running: Running) -> None:
        self._switch: TofinoSwitch = running.switch
        self._wires = running.wires

    def start(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._hosts = tna_rules.hosts_of(scenario)
        apply(self._switch, tna_rules.plan_of(scenario))
        for sid in range(256):
            queue = scenario.before["state"].get(str(sid), 0)
            self._write(_STATE, sid, queue)
            self._write(_SHADOW_STATE, sid, queue)
        self._write(_SEQUENCE, 0, scenario.before["sequence"])
        for cell in tna_rules.cells(scenario.after["filter"]):
            self._write(f"pipe.{cell.register}", cell.slot, 0)
        for cell in tna_rules.cells(scenario.before["filter"]):
            self._write(f"pipe.{cell.register}", cell.slot, cell.req_id)
        self._counts = self._read_counters()

    def feed(self, step: Step) -> Seen:
        self._wires.send(step.port, step.frame)
        frames = self._collect(len(step.out))
        self._wires.send(_MARKER_PORT, _MARKER)
        deadline = time.monotonic() + _PACKET_S
        while (scenario_plan.LINUX, _MARKER) not in frames:
            assert time.monotonic() < deadline, "the marker did not come back"
            frames += self._wires.receive()
        frames.remove((scenario_plan.LINUX, _MARKER))
        counts = self._read_counters()
        seen = {name: counts[name] - self._counts[name] for name in counts}
        seen["not_netclone"] -= 1  # the marker
        self._counts = counts
        named = {scenario_plan.hook(name): count for name, count in seen.items() if count}
        return Seen(tna_rules.as_the_corpus_says(frames, step, self._hosts), named)

    def _collect(self, expected: int) -> list[tuple[int, bytes]]:
        frames: list[tuple[int, bytes]] = []
        deadline = time.monotonic() + _PACKET_S
        while len(frames) < expected and time.monotonic() < deadline:
            frames += self._wires.receive()
            time.sleep(0.01)
        time.sleep(_QUIET_S)
        return frames + self._wires.receive()

    def tables(self) -> Tables:
        known = {*self._scenario.before["state"], *self._scenario.after["state"]}
        states = {sid: self._read(_STATE, int(sid)) for sid in known}
        assert states == {sid: self._read(_SHADOW_STATE, int(sid)) for sid in known}
        entries = [*self._scenario.before["filter"], *self._scenario.after["filter"]]
        held = {
            tna_rules.Cell(cell.idx, cell.slot, req_id)
            for cell in tna_rules.cells(entries)
            if (req_id := self._read(f"pipe.{cell.register}", cell.slot))
        }
        return {
            **self._scenario.after,
            "state": states,
            "sequence": self._read(_SEQUENCE, 0),
            "filter": tna_rules.filters_of(self._scenario, held),
        }

    # ---- BfRt ----

    def _write(self, register: str, index: int, value: int) -> None:
        table, gc = self._switch.table(register), self._switch.client
        key = table.make_key([gc.KeyTuple(_INDEX, index)])
        data = table.make_data([gc.DataTuple(_field(register), value)])
        table.entry_add(self._switch.target, [key], [data])

    def _read(self, register: str, index: int) -> int:
        """The value in pipeline 0, where all ports of the corpus are."""
        values = self._entry(register, _INDEX, index)[_field(register)]
        return int(values[0] if isinstance(values, list) else values)

    def _read_counters(self) -> dict[str, int]:
        return {
            name: int(self._entry(_REASONS, "$COUNTER_INDEX", number)["$COUNTER_SPEC_PKTS"])
            for name, number in scenario_plan.REASONS.items()
        }

    def _entry(self, name: str, key_name: str, index: int) -> dict[str, Any]:
        table, gc = self._switch.table(name), self._switch.client
        key = table.make_key([gc.KeyTuple(key_name, index)])
        for data, _ in table.entry_get(self._switch.target, [key], {"from_hw": True}):
            found: dict[str, Any] = data.to_dict()
            return found
        raise AssertionError(f"{name} has no entry {index}")


def _field(register: str) -> str:
    return f"{register.removeprefix('pipe.')}.f1"
