# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Strict, typed reading of the TOML tables of a topology file."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import TypeVar

from netclone_host.errors import UserError

Table = Mapping[str, object]
_Address = TypeVar("_Address", IPv4Address, IPv6Address)

_BROADCAST = IPv4Address("255.255.255.255")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
# A node's name becomes part of a namespace's and a link's name.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,14}")
_LINK_NAME = re.compile(r"[^\s/:]{1,15}")


def check_keys(table: Table, where: str, known: Iterable[str]) -> None:
    """Refuse a key that is not in `known`; the hint names the nearest one."""
    known = tuple(known)
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known keys: {', '.join(known)}"
            raise UserError(f"unknown key '{key}' in {where}", hint=hint)


def table(document: Table, key: str) -> Table:
    """The table `[key]`, empty if missing."""
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise UserError(f"'{key}' must be a table", hint=f"write it as [{key}]")
    return value


def tables(document: Table, key: str) -> list[Table]:
    """The array of tables `[[key]]`, empty if missing."""
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UserError(f"'{key}' must be an array of tables", hint=f"write each as [[{key}]]")
    return value


def toml_value(value: object) -> str:
    """One scalar or tuple of scalars as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return json.dumps(str(value))


class Reader:
    """Reads typed values of one table, which errors call `where`."""

    def __init__(self, table: Table, where: str) -> None:
        self.table = table
        self.where = where

    def _fail(self, key: str, wanted: str) -> UserError:
        return UserError(
            f"{self.where}: {key} = {self.table[key]!r} is not {wanted}", hint=f"{key} is {wanted}"
        )

    def _required(self, key: str) -> object:
        if key not in self.table:
            raise UserError(f"{self.where} has no '{key}'", hint=f"add {key} = ...")
        return self.table[key]

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """An integer of low .. high, required unless there is a default."""
        if key not in self.table and default is not None:
            return default
        value = self._required(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self._fail(key, f"an integer of {low} to {high}")
        return value

    def integer_or_off(self, key: str, low: int, high: int, default: int = 0) -> int:
        """0 or an integer of low .. high."""
        value = self.table.get(key, default)
        if type(value) is not int or (value != 0 and not low <= value <= high):
            raise self._fail(key, f"0 (off) or an integer of {low} to {high}")
        return value

    def integers(
        self, key: str, low: int, high: int, most: int, default: tuple[int, ...]
    ) -> tuple[int, ...]:
        """One to `most` different integers of low .. high."""
        value = self.table.get(key)
        if key not in self.table:
            return default
        good = isinstance(value, list) and 1 <= len(value) <= most
        if good and isinstance(value, list):
            good = all(type(item) is int and low <= item <= high for item in value)
            good = good and len(set(value)) == len(value)
        if not good or not isinstance(value, list):
            raise self._fail(key, f"a list of 1 to {most} different integers of {low} to {high}")
        return tuple(value)

    def power_of_two(self, key: str, high: int, default: int) -> int:
        """A power of two of 2 .. high."""
        value = self.table.get(key, default)
        if type(value) is not int or not 2 <= value <= high or value & (value - 1):
            raise self._fail(key, f"a power of two of 2 to {high}")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.table.get(key, default)
        if not isinstance(value, bool):
            raise self._fail(key, "true or false")
        return value

    def mac(self, key: str) -> str:
        """A unicast MAC address, in lower case."""
        value = self._required(key)
        text = value.lower() if isinstance(value, str) else ""
        if not _MAC.fullmatch(text) or int(text[:2], 16) & 1 or text == "00:00:00:00:00:00":
            raise self._fail(key, "a unicast MAC address like '02:00:00:00:01:65'")
        return text

    def name(self, key: str) -> str:
        """A node's name."""
        value = self._required(key)
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            raise self._fail(key, "a name of 1 to 15 letters, digits, - and _")
        return value

    def port(self, key: str) -> str | int:
        """A switch port: link name or port number."""
        value = self._required(key)
        if type(value) is int and 0 <= value < 1 << 16:
            return value
        if isinstance(value, str) and _LINK_NAME.fullmatch(value) and value not in (".", ".."):
            return value
        raise self._fail(key, "the name of a link (at most 15 characters) or a port number")

    def addresses(self) -> tuple[IPv4Address | None, IPv6Address | None]:
        """ip4 and ip6, at least one of them."""
        ip4 = self._address("ip4", IPv4Address, "an IPv4 address like '10.0.1.101'")
        ip6 = self._address("ip6", IPv6Address, "an IPv6 address like 'fd00:1::65'")
        if ip4 is None and ip6 is None:
            raise UserError(f"{self.where} has neither 'ip4' nor 'ip6'", hint="add one of them")
        return ip4, ip6

    def _address(self, key: str, kind: type[_Address], wanted: str) -> _Address | None:
        if key not in self.table:
            return None
        value = self.table[key]
        if not isinstance(value, str):
            raise self._fail(key, wanted)
        try:
            address = kind(value)
        except ValueError:
            raise self._fail(key, wanted) from None
        zone = isinstance(address, IPv6Address) and address.scope_id is not None
        broadcast = address == _BROADCAST
        if address.is_multicast or address.is_unspecified or zone or broadcast:
            raise self._fail(key, f"{wanted} (unicast, without a zone)")
        return address
