# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Counter names come from counters.h; nothing may be lost on the way."""

from __future__ import annotations

import re

import pytest

from netclone_host import counters


def test_every_entry_of_the_list_is_read() -> None:
    text = counters.HEADER.read_text()
    assert len(counters.names()) == len(re.findall(r"^\s*X\(", text, re.MULTILINE))
    assert counters.names()[0] == "not_netclone"
    assert counters.names()[-1] == "checksum_failed"


def test_hooks_are_those_of_the_header() -> None:
    text = counters.HEADER.read_text()
    assert {name: int(value) for name, value in re.findall(r"NC_HOOK_(\w+) = (\d+)", text)} == {
        hook.name: hook.value for hook in counters.Hook
    }


def test_by_name_wants_a_value_for_each_counter() -> None:
    values = list(range(len(counters.names())))
    table = counters.by_name(values)
    assert counters.total(table) == sum(values)
    assert "not_netclone" not in counters.nonzero(table)
    with pytest.raises(ValueError):
        counters.by_name([1, 2, 3])
