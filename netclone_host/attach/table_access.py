# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Typed access to the tables: of an attachment by their pins, or of programs just loaded.

    with pinned_table(attachment, ServerConfig) as configs:
        config = configs[0]
        config.workers = 4
        configs[0] = config

What kind of structure it is says which map it is in (`tables.MAP_OF`).
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from netclone_host.attach.journal import Attachment
from netclone_host.attach.tables import MAP_OF, MapName
from netclone_host.errors import UserError
from netclone_host.kernel import objects
from netclone_host.kernel.maps import Map

Value = TypeVar("Value", bound=ctypes.Structure)


class Table(Generic[Value]):
    """An array of structures of one kind. Each is read as a copy and written as a whole."""

    def __init__(self, entries: Map, kind: type[Value]) -> None:
        """ValueError for a map of other values than these, such as another version's."""
        if entries.value_size != ctypes.sizeof(kind):
            raise ValueError(
                f"{entries.name} has values of {entries.value_size} bytes, "
                f"{kind.__name__} has {ctypes.sizeof(kind)}"
            )
        self._entries, self._kind = entries, kind

    def __getitem__(self, index: int) -> Value:
        value = self._entries.lookup(index)
        if value is None:
            raise IndexError(index)
        return self._kind.from_buffer_copy(value)

    def __setitem__(self, index: int, value: Value) -> None:
        self._entries.update(index, value)

    def rows(self) -> list[Value]:
        """All of them, by one system call."""
        raw, size = self._entries.values(), self._entries.value_size
        return [self._kind.from_buffer_copy(raw, at) for at in range(0, len(raw), size)]


def table(maps: Mapping[str, Map], kind: type[Value]) -> Table[Value]:
    """The one among open maps that has values of this kind."""
    return Table(maps[MAP_OF[kind]], kind)


@contextmanager
def pinned_map(attachment: Attachment, name: MapName) -> Iterator[Map]:
    """A map of the attachment. UserError if its pin is gone, or something else stands there."""
    path = Path(attachment.pin_dir) / name
    try:
        fd = objects.open_pin(path)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        if not attachment.path.exists():
            raise UserError(
                f"NetClone was detached from {attachment.ifnames[0]} meanwhile",
                hint="'netclone-host status' lists where it is attached",
            ) from None
        raise UserError(f"the pin {path} is gone", hint=_attach_again(attachment)) from None
    try:
        found = Map.pinned_as(name, fd)
        if found is None:
            raise UserError(
                f"the pin {path} is not that of the map {name}", hint=_attach_again(attachment)
            )
        yield found
    finally:
        os.close(fd)


@contextmanager
def pinned_table(attachment: Attachment, kind: type[Value]) -> Iterator[Table[Value]]:
    """The attachment's table of values of this kind. UserError as `pinned_map`, and for one that
    another version attached."""
    with pinned_map(attachment, MAP_OF[kind]) as entries:
        try:
            found = Table(entries, kind)
        except ValueError as error:
            raise UserError(
                f"another version of NetClone is attached: {error}", hint=_attach_again(attachment)
            ) from None
        yield found


def pinned_config(attachment: Attachment, kind: type[Value]) -> Value:
    """The only value of a table that has one: a role's configuration."""
    with pinned_table(attachment, kind) as configs:
        return configs[0]


def _attach_again(attachment: Attachment) -> str:
    return f"'netclone-host detach {attachment.ifnames[0]}', then attach again"
