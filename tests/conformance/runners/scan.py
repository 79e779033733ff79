# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whole tables of the kernel at once: what is not zero, and zero again."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from netclone_host.kernel import libbpf
from netclone_host.kernel.maps import Map


def _bytes_of(table: Map, entries: int) -> np.ndarray:
    """The first entries of an array map."""
    keys = np.empty(entries, dtype=np.uint32)
    values = np.empty(entries * table.value_size, dtype=np.uint8)
    count, batch = ctypes.c_uint32(entries), ctypes.c_uint32()
    function = libbpf.library().bpf_map_lookup_batch
    pointers = [ctypes.c_void_p] * 5
    function.restype, function.argtypes = ctypes.c_int, [ctypes.c_int, *pointers, ctypes.c_void_p]
    result = function(
        table.fd,
        None,
        ctypes.addressof(batch),
        keys.ctypes.data,
        values.ctypes.data,
        ctypes.addressof(count),
        None,
    )
    if count.value != entries:
        raise OSError(-result, f"{count.value} of {entries} entries of {table.name} read")
    return values


def nonzero_words(table: Map) -> Iterator[tuple[int, int]]:
    """(index, word) of the 64-bit words that are not 0."""
    words = _bytes_of(table, table.max_entries).view(np.uint64)
    for index in np.flatnonzero(words):
        yield int(index), int(words[index])


def zero(table: Map) -> None:
    """Write 0 to the entries that have something else."""
    values = _bytes_of(table, table.max_entries).reshape(table.max_entries, table.value_size)
    dirty = {int(index): bytes(table.value_size) for index in np.flatnonzero(values.any(axis=1))}
    table.update_many(dirty)


class Words:
    """A large table of 64-bit words. Reading all of one takes tens of milliseconds, so only
    entries that a scenario names are looked at, and everything each few scenarios: a word
    that was written elsewhere is found then."""

    EVERYTHING_EACH = 150

    def __init__(self, table: Map) -> None:
        self._table = table
        self._named: set[int] = set()
        self._filled = 0

    def fill(self, words: dict[int, int], expected: dict[int, int]) -> None:
        """Write these words and no others; `expected` names entries to look at later."""
        if self._filled % self.EVERYTHING_EACH == 0:
            strays = {at for at, _ in nonzero_words(self._table)} - self._named
            assert self._filled == 0 or not strays, f"{self._table.name}: written at {strays}"
            self._named |= strays
        self._filled += 1
        self._table.update_many({at: bytes(self._table.value_size) for at in self._named})
        self._named = set(words) | set(expected)
        self._table.update_many({at: word.to_bytes(8, "little") for at, word in words.items()})

    def clear(self) -> None:
        """Zero everywhere: what an aborted scenario left is no stray."""
        self._named |= {at for at, _ in nonzero_words(self._table)}

    def nonzero(self, everywhere: bool) -> list[tuple[int, int]]:
        """(index, word) of the words that are not 0, among the named ones or everywhere."""
        if everywhere:
            found = list(nonzero_words(self._table))
            self._named |= {at for at, _ in found}
            return found
        words = ((at, self._table.lookup(at) or b"") for at in sorted(self._named))
        return [(at, int.from_bytes(word, "little")) for at, word in words if any(word)]
