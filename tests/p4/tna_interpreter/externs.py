# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The externs of TNA that the program uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.p4.tna_interpreter.ir import Node
from tests.p4.tna_interpreter.values import Header, Struct, Value, copied, mask

if TYPE_CHECKING:
    from tests.p4.tna_interpreter.machine import Machine


class Extern:
    """An object of the architecture."""

    def call(self, machine: Machine, method: str, arguments: list[Node]) -> Value:
        return getattr(self, f"do_{method}")(machine, *arguments)


class TooShortError(Exception):
    """The packet ends inside what the parser extracts."""


class PacketIn(Extern):
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, n_bits: int) -> int:
        n_bytes, at = n_bits // 8, self._at
        if at + n_bytes > len(self._data):
            raise TooShortError
        self._at += n_bytes
        return int.from_bytes(self._data[at : at + n_bytes], "big")

    @property
    def rest(self) -> bytes:
        """What no state has extracted: the payload."""
        return self._data[self._at :]

    def do_extract(self, machine: Machine, place: Node) -> None:
        header: Header = machine.value(place)
        header.unpack(self.take(sum(header.widths.values())))

    def do_advance(self, machine: Machine, n_bits: Node) -> None:
        self.take(machine.value(n_bits))

    def do_lookahead(self, machine: Machine) -> Value:
        raise NotImplementedError("lookahead")


class PacketOut(Extern):
    def __init__(self) -> None:
        self.data = b""

    def do_emit(self, machine: Machine, place: Node) -> None:
        self._emit(machine.value(place))

    def _emit(self, value: Value) -> None:
        if isinstance(value, Header):
            if value.valid:
                number, width = value.pack()
                self.data += number.to_bytes(width // 8, "big")
            return
        assert isinstance(value, Struct)
        for field in value.values():
            self._emit(field)


class Register(Extern):
    """An array of numbers or pairs, another one in each pipeline. A packet touches it at most
    once a pass: that is checked."""

    def __init__(self, size: int, initial: Value) -> None:
        self.size, self.initial = size, initial
        self.pipe = 0
        self.touched = False
        self._cells: dict[int, dict[int, Value]] = {}

    def start_pass(self, pipe: int) -> None:
        self.pipe, self.touched = pipe, False

    def reset(self) -> None:
        self._cells.clear()
        self.pipe = 0

    @property
    def cells(self) -> dict[int, Value]:
        """Of the pipeline of the last pass."""
        return self.cells_of(self.pipe)

    def cells_of(self, pipe: int) -> dict[int, Value]:
        return self._cells.setdefault(pipe, {})

    def read(self, index: int) -> Value:
        assert 0 <= index < self.size, f"index {index} of {self.size}"
        return copied(self.cells.get(index, self.initial))

    def write(self, index: int, value: Value) -> None:
        assert 0 <= index < self.size, f"index {index} of {self.size}"
        self.cells[index] = copied(value)


class RegisterAction(Extern):
    """One pass through the stateful ALU."""

    def __init__(self, register: Register, apply: Node, result: Value) -> None:
        self._register, self._apply, self._result = register, apply, result

    def do_execute(self, machine: Machine, index: Node) -> Value:
        assert not self._register.touched, "a second access of the same packet"
        self._register.touched = True
        at = machine.value(index)
        held, *result = self._apply.type.parameters.parameters
        inner = machine.nested()
        inner.scope[held.name] = self._register.read(at)
        if result:
            inner.scope[result[0].name] = self._result
        for statement in self._apply.body.components:
            inner.run(statement)
        self._register.write(at, inner.scope[held.name])
        return inner.scope[result[0].name] if result else None


class Counter(Extern):
    def __init__(self) -> None:
        self.packets: dict[int, int] = {}

    def do_count(self, machine: Machine, index: Node) -> None:
        at = machine.value(index)
        self.packets[at] = self.packets.get(at, 0) + 1


class Hash(Extern):
    """Exclusive or of words. Fields lie one after the other, the first one highest."""

    def __init__(self, width: int) -> None:
        self._width = width

    def do_get(self, machine: Machine, data: Node) -> int:
        number, width = _concatenated(machine, data)
        assert width % self._width == 0
        result = 0
        for at in range(0, width, self._width):
            result ^= number >> at & mask(self._width)
        return result


def _concatenated(machine: Machine, data: Node) -> tuple[int, int]:
    """Fields one after the other, and their width; a header that is not there has none."""
    number = width = 0
    for item in _fields(data):
        bits = machine.types.width(item.type)
        if item.kind != "Member" or _is_there(machine.value(item.expr)):
            number, width = number << bits | machine.value(item), width + bits
    return number, width


class Checksum(Extern):
    """The one's complement sum. In a parser it collects what is taken away from a packet's
    checksum; the residual is what remains of it."""

    def __init__(self) -> None:
        self.sum = 0

    def _words(self, machine: Machine, data: Node) -> list[int]:
        number, width = _concatenated(machine, data)
        assert width % 16 == 0, "fields of a checksum are whole words"
        return [number >> at & 0xFFFF for at in range(0, width, 16)]

    def do_subtract(self, machine: Machine, data: Node) -> None:
        self.sum += sum(~word & 0xFFFF for word in self._words(machine, data))

    def do_subtract_all_and_deposit(self, machine: Machine, place: Node) -> None:
        machine.assign(place, folded(self.sum))

    def do_update(self, machine: Machine, data: Node, zeros_as_ones: Node | None = None) -> int:
        checksum = ~folded(sum(self._words(machine, data))) & 0xFFFF
        if checksum == 0 and zeros_as_ones is not None and machine.value(zeros_as_ones):
            return 0xFFFF
        return checksum


def _fields(data: Node) -> list[Any]:
    if data.kind == "StructExpression":
        return [item.expression for item in data.components]
    return list(data.components) if data.kind == "ListExpression" else [data]


def _is_there(container: Value) -> bool:
    return not isinstance(container, Header) or container.valid


def folded(number: int) -> int:
    while number > mask(16):
        number = (number & mask(16)) + (number >> 16)
    return number
