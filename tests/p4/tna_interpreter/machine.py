# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Statements and expressions of P4: one machine for parsers, controls and deparsers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tests.p4.tna_interpreter.externs import Extern
from tests.p4.tna_interpreter.ir import Node
from tests.p4.tna_interpreter.tables import Applied, Table
from tests.p4.tna_interpreter.values import Header, Struct, Types, Value, copied, mask

Scope = dict[str, Value]

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "Equ": operator.eq,
    "Neq": operator.ne,
    "Lss": operator.lt,
    "Leq": operator.le,
    "Grt": operator.gt,
    "Geq": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "BAnd": operator.and_,
    "BOr": operator.or_,
    "BXor": operator.xor,
    "Shl": operator.lshift,
    "Shr": operator.rshift,
}


class Exit(Exception):
    """`exit` or `return`."""


class Machine:
    """Runs the code of one parser or control. Names are unique in it after p4c's front end."""

    def __init__(self, types: Types, scope: Scope) -> None:
        self.types = types
        self.scope = scope

    def nested(self) -> Machine:
        """A machine for a register action: it sees everything, and its names are its own."""
        return Machine(self.types, dict(self.scope))

    # ---- statements ----

    def run(self, statement: Node) -> None:
        getattr(self, f"_run_{statement.kind}")(statement)

    def _run_BlockStatement(self, block: Node) -> None:
        for component in block.components:
            self.run(component)

    def _run_EmptyStatement(self, _: Node) -> None:
        pass

    def _run_ReturnStatement(self, _: Node) -> None:
        raise Exit

    _run_ExitStatement = _run_ReturnStatement

    def _run_IfStatement(self, statement: Node) -> None:
        if self.value(statement.condition):
            self.run(statement.ifTrue)
        elif (other := statement.get("ifFalse")) is not None:
            self.run(other)

    def _run_SwitchStatement(self, statement: Node) -> None:
        chosen = self.value(statement.expression)
        cases = list(statement.cases)
        for position, case in enumerate(cases):
            label = case.label
            if label.kind != "DefaultExpression" and self._label(label) != chosen:
                continue
            body = next(c.statement for c in cases[position:] if c.get("statement") is not None)
            self.run(body)
            return

    def _label(self, label: Node) -> Value:
        return label.path.name if label.kind == "PathExpression" else self.value(label)

    def _run_AssignmentStatement(self, statement: Node) -> None:
        self.assign(statement.left, copied(self.value(statement.right)))

    def _run_MethodCallStatement(self, statement: Node) -> None:
        self.value(statement.methodCall)

    def _run_Declaration_Variable(self, declared: Node) -> None:
        value = self.types.fresh(declared.type)
        if (initial := declared.get("initializer")) is not None:
            value = copied(self.value(initial))
        self.scope[declared.name] = value

    def _run_Declaration_Constant(self, declared: Node) -> None:
        self.scope[declared.name] = self.value(declared.initializer)

    # ---- places ----

    def assign(self, place: Node, value: Value) -> None:
        if place.kind == "PathExpression":
            old = self.scope.get(place.path.name)
            if isinstance(old, Struct):  # others may hold it by reference
                _overwrite(old, value)
            else:
                self.scope[place.path.name] = value
        elif place.kind == "Member":
            container = self.value(place.expr)
            old = container[place.member]
            if isinstance(old, Struct):
                _overwrite(old, value)
            else:
                container[place.member] = value
        elif place.kind == "Slice":
            high, low = self.value(place.e1), self.value(place.e2)
            hole = mask(high - low + 1) << low
            self.assign(place.e0, self.value(place.e0) & ~hole | value << low)
        else:
            raise NotImplementedError(f"assignment to {place!r}")

    # ---- expressions ----

    def value(self, expression: Node) -> Value:
        kind = expression.kind
        if kind in _COMPARISONS:
            left, right = self.value(expression.left), self.value(expression.right)
            return _COMPARISONS[kind](left, right)
        if kind in _ARITHMETIC:
            left, right = self.value(expression.left), self.value(expression.right)
            return self.types.wrapped(expression.type, _ARITHMETIC[kind](left, right))
        return getattr(self, f"_value_{kind}")(expression)

    def _value_Constant(self, constant: Node) -> int:
        return int(constant.value)

    def _value_BoolLiteral(self, literal: Node) -> bool:
        return bool(literal.value)

    def _value_PathExpression(self, path: Node) -> Value:
        return self.scope[path.path.name]

    def _value_Member(self, member: Node) -> Value:
        base = self.value(member.expr)
        if isinstance(base, Applied):
            return {"hit": base.hit, "miss": not base.hit, "action_run": base.action}[member.member]
        return base[member.member]

    def _value_TypeNameExpression(self, _: Node) -> dict[str, str]:
        return _Enumerators()

    def _value_Slice(self, piece: Node) -> int:
        high, low = self.value(piece.e1), self.value(piece.e2)
        return int(self.value(piece.e0) >> low & mask(high - low + 1))

    def _value_Concat(self, both: Node) -> int:
        low_width = self.types.width(both.right.type)
        return int(self.value(both.left) << low_width | self.value(both.right))

    def _value_Cast(self, cast: Node) -> Value:
        value = self.value(cast.expr)
        target = self.types.resolved(cast.get("destType") or cast.type)
        if target.kind == "Type_Boolean":
            return bool(value)
        return self.types.wrapped(target, int(value)) if target.kind == "Type_Bits" else value

    def _value_LAnd(self, both: Node) -> bool:
        return bool(self.value(both.left) and self.value(both.right))

    def _value_LOr(self, both: Node) -> bool:
        return bool(self.value(both.left) or self.value(both.right))

    def _value_LNot(self, inner: Node) -> bool:
        return not self.value(inner.expr)

    def _value_Cmpl(self, inner: Node) -> int:
        return self.types.wrapped(inner.type, ~self.value(inner.expr))

    def _value_Neg(self, inner: Node) -> int:
        return self.types.wrapped(inner.type, -self.value(inner.expr))

    def _value_Mux(self, choice: Node) -> Value:
        return self.value(choice.e1 if self.value(choice.e0) else choice.e2)

    def _value_ListExpression(self, items: Node) -> list[Value]:
        return [self.value(item) for item in items.components]

    def _value_StructExpression(self, items: Node) -> Struct:
        return Struct({item.name: self.value(item.expression) for item in items.components})

    def _value_MethodCallExpression(self, call: Node) -> Value:
        arguments = [argument.expression for argument in call.arguments]
        method = call.method
        if method.kind == "PathExpression":
            action = self.scope[method.path.name]
            return self.act(action, [self.value(argument) for argument in arguments])
        target = self.value(method.expr)
        if isinstance(target, Header):
            return _header_method(target, method.member)
        if isinstance(target, Table):
            return target.apply(self)
        assert isinstance(target, Extern), f"{method!r} of {target!r}"
        return target.call(self, method.member, arguments)

    def act(self, action: Node, values: list[Value]) -> None:
        """Run an action; its parameters get `values` in order."""
        parameters = action.parameters.parameters
        for parameter, value in zip(parameters, values, strict=True):
            self.scope[parameter.name] = value
        try:
            self.run(action.body)
        except Exit:
            return


class _Enumerators(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return name


def _overwrite(target: Struct, source: Struct) -> None:
    target.update(source)
    if isinstance(target, Header) and isinstance(source, Header):
        target.valid = source.valid


def _header_method(header: Header, method: str) -> bool | None:
    if method == "isValid":
        return header.valid
    if method == "setValid":
        header.valid = True
    elif method == "setInvalid":
        header.invalidate()
    else:
        raise NotImplementedError(method)
    return None
