# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tofino's pipelines with their traffic manager: frames in, frames out, recirculation between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.p4.tna_interpreter import externs
from tests.p4.tna_interpreter.ir import Node, control_plane_name, load
from tests.p4.tna_interpreter.machine import Exit, Machine, Scope
from tests.p4.tna_interpreter.tables import Table, by_full_name, matches, tables_of
from tests.p4.tna_interpreter.values import Struct, Types, Value, copied

RECIRCULATION_PORT = 68
PORT_METADATA_BYTES = 8
PIPE_SHIFT, PORT_MASK = 7, 0x7F
_NO_PORT = 0x1FF
_MAX_PASSES = 8
_WIDTHS = {"XOR8": 8, "XOR16": 16, "XOR32": 32}


@dataclass(frozen=True)
class Member:
    """A node of a multicast group."""

    port: int
    rid: int


@dataclass
class TrafficManager:
    """Multicast groups, and the ports that an exclusion id prunes."""

    groups: dict[int, tuple[Member, ...]] = field(default_factory=dict)

    def outputs(self, of_tm: Struct, drop: int, unicast: bool) -> Iterator[int]:
        if drop & 1:
            return
        if unicast:
            yield of_tm["ucast_egress_port"]
        for member in self.groups.get(of_tm["mcast_grp_a"], ()):
            # The prune table has each port under its own number.
            same = member.rid == of_tm["rid"]
            if not (same and member.port == of_tm["level2_exclusion_id"]):
                yield member.port


class Pipeline:
    """The program in all pipelines: pipe 0 has ports 0 .. 127, and so on. Entries are the same in
    all of them, registers are not."""

    def __init__(self, dump: Path) -> None:
        declarations = load(dump)
        self.types = Types(declarations)
        named = {node.get("name"): node for node in declarations}
        self._constants = [n for n in declarations if n.kind == "Declaration_Constant"]
        self._actions = [n for n in declarations if n.kind == "P4Action"]
        self.parser: Node = named["IngressParser"]
        self.ingress: Node = named["SwitchIngress"]
        self.deparser: Node = named["IngressDeparser"]
        self.tm = TrafficManager()
        self._tables = tables_of(self.ingress)
        for table in self._tables.values():
            table.actions |= {control_plane_name(n): n for n in self._actions}
        self.tables: dict[str, Table] = by_full_name(self._tables)
        self._make_state()

    # ---- state ----

    def _make_state(self) -> None:
        self._objects: Scope = {}
        self.registers: dict[str, externs.Register] = {}
        machine = Machine(self.types, {})
        for node in self.ingress.controlLocals:
            if node.kind != "Declaration_Instance":
                continue
            kind = _extern_name(node)
            arguments = [argument.expression for argument in node.arguments]
            if kind == "Register":
                initial = machine.value(arguments[1]) if len(arguments) > 1 else 0
                if isinstance(initial, list):
                    initial = self._as_struct(node, initial)
                register = externs.Register(machine.value(arguments[0]), initial)
                self.registers[control_plane_name(node)] = register
                self._objects[node.name] = register
            elif kind == "Counter":
                self._objects[node.name] = self.counter = externs.Counter()
            elif kind == "RegisterAction":
                self._objects[node.name] = self._register_action(node, arguments[0])
            elif kind == "Hash":
                self._objects[node.name] = externs.Hash(
                    _WIDTHS[arguments[0].get("member") or "XOR32"]
                )
            else:
                raise NotImplementedError(kind)

    def _as_struct(self, node: Node, values: list[Value]) -> Struct:
        made: Struct = self.types.fresh(node.type.arguments[0])
        return Struct(zip(made, values, strict=True))

    def _register_action(self, node: Node, register: Node) -> externs.RegisterAction:
        apply = next(part for part in node.initializer.components if part.kind == "Function")
        return externs.RegisterAction(self._objects[register.path.name], apply, 0)

    def reset(self) -> None:
        """As after loading: no entry, every register 0."""
        for table in self.tables.values():
            table.clear()
        for register in self.registers.values():
            register.reset()
        self.counter.packets.clear()
        self.tm.groups.clear()

    # ---- packets ----

    def feed(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Everything that leaves by a port, second passes included. `entered` lists the ports by
        which it came into a pipeline, the first one first."""
        out, pending = [], [(port, frame)]
        self.entered: list[int] = []
        for _ in range(_MAX_PASSES):
            if not pending:
                return out
            self.entered.append(pending[0][0])
            for leaves, what in self._pass(*pending.pop(0)):
                recirculates = leaves & PORT_MASK == RECIRCULATION_PORT
                (pending if recirculates else out).append((leaves, what))
        raise AssertionError(f"a frame goes round and round: {frame.hex()}")

    def _pass(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        for register in self.registers.values():
            register.start_pass(port >> PIPE_SHIFT)
        packet = externs.PacketIn(self._ahead_of(port) + frame)
        parser = Machine(self.types, self._scope_of(self.parser, packet))
        try:
            self._parse(parser)
        except externs.TooShortError:
            return []  # the parser drops it
        hdr, meta, intrinsic = (parser.scope[p.name] for p in _parameters(self.parser)[1:4])
        ingress = Machine(self.types, self._scope_of(self.ingress, hdr, meta, intrinsic))
        of_tm = ingress.scope[_parameters(self.ingress)[5].name]
        of_deparser = ingress.scope[_parameters(self.ingress)[4].name]
        of_tm["ucast_egress_port"] = _NO_PORT
        self._run(ingress, self.ingress)
        data = self._deparse(hdr, meta, of_deparser) + packet.rest
        unicast = of_tm["ucast_egress_port"] != _NO_PORT
        assert unicast or of_tm["mcast_grp_a"] or of_deparser["drop_ctl"], "a frame without a way"
        ports = self.tm.outputs(of_tm, of_deparser["drop_ctl"], unicast)
        return [(leaves, data) for leaves in ports]

    def _ahead_of(self, port: int) -> bytes:
        """The intrinsic metadata and the port metadata that come before the frame."""
        intrinsic = self.types.fresh(_parameters(self.parser)[3].type)
        for name in intrinsic:
            intrinsic[name] = 0
        intrinsic["ingress_port"] = port
        number, width = intrinsic.pack()
        return bytes(number.to_bytes(width // 8, "big")) + bytes(PORT_METADATA_BYTES)

    def _scope_of(self, code: Node, *given: Value) -> Scope:
        """Parameters, those given first; constants, actions, objects, tables, variables."""
        scope: Scope = {"error": {}}
        machine = Machine(self.types, scope)
        for constant in self._constants:
            machine.run(constant)
        scope |= {action.name: action for action in self._actions}
        parameters = _parameters(code)
        for position, parameter in enumerate(parameters):
            fresh = self.types.fresh if position >= len(given) else None
            scope[parameter.name] = fresh(parameter.type) if fresh else given[position]
        for node in code.get("controlLocals") or code.get("parserLocals") or []:
            if node.kind == "P4Action":
                scope[node.name] = node
            elif node.kind == "Declaration_Variable":
                machine.run(node)
            elif node.kind == "Declaration_Instance":
                found = self._objects.get(node.name)
                scope[node.name] = externs.Checksum() if found is None else found
            elif node.kind == "P4Table":
                scope[node.name] = self._tables[node.name]
        return scope

    def _parse(self, machine: Machine) -> None:
        states = {state.name: state for state in self.parser.states}
        name = "start"
        while name not in ("accept", "reject"):
            state = states[name]
            for component in state.components:
                machine.run(component)
            name = _next_state(machine, state.selectExpression)
        if name == "reject":
            raise externs.TooShortError

    def _run(self, machine: Machine, control: Node) -> None:
        try:
            machine.run(control.body)
        except Exit:
            return

    def _deparse(self, hdr: Value, meta: Value, of_deparser: Value) -> bytes:
        packet = externs.PacketOut()
        given = (packet, copied(hdr), meta, of_deparser)
        machine = Machine(self.types, self._scope_of(self.deparser, *given))
        self._run(machine, self.deparser)
        return packet.data


def _next_state(machine: Machine, transition: Node) -> str:
    if transition.kind == "PathExpression":
        return str(transition.path.name)
    values = [machine.value(item) for item in transition.select.components]
    for case in transition.selectCases:
        keys = case.keyset.components if case.keyset.kind == "ListExpression" else [case.keyset]
        if case.keyset.kind == "DefaultExpression" or all(
            matches(machine, key, value) for key, value in zip(keys, values, strict=True)
        ):
            return str(case.state.path.name)
    return "reject"


def _parameters(code: Node) -> list[Node]:
    return list(code.type.applyParams.parameters)


def _extern_name(node: Node) -> str:
    kind = node.type.baseType if node.type.kind == "Type_Specialized" else node.type
    return str(kind.path.name)
