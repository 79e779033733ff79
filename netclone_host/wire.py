# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The NetClone header (docs/wire-format.md): 28 bytes at the start of the L4 payload.

A codec with no dependency; :mod:`netclone_host.wire_scapy` is the same as a scapy layer.
Both are tested against ``xdp/include/netclone/wire.h``.
"""

from __future__ import annotations

import dataclasses
import enum
import struct

DEFAULT_PORT = 1000
HEADER_LEN = 28

# Network byte order; one entry a field, in order of the dataclass below.
_LAYOUT = struct.Struct("!HBBIIIIBBBBHBB")
assert _LAYOUT.size == HEADER_LEN


class Type(enum.IntEnum):
    REQ = 0
    RESP = 1


class Clo(enum.IntEnum):
    """Whether a request was cloned, and which of the two packets this is."""

    NONE = 0
    ORIGINAL = 1
    CLONE = 2


class Flag(enum.IntFlag):
    NO_CLONE = 1
    CLIENT_ID_VALID = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """The fields in wire order. Values are plain integers, so that a header with
    unknown bits or values out of range survives decode and encode unchanged."""

    switch_id: int = 0
    flags: int = 0
    type: int = Type.REQ
    req_id: int = 0
    grp: int = 0
    sid: int = 0
    state: int = 0
    pkt_index: int = 0
    pkt_count: int = 0
    reserved0: int = 0
    clo: int = Clo.NONE
    client_id: int = 0
    reserved1: int = 0
    idx: int = 0

    def encode(self) -> bytes:
        """The 28 bytes. ValueError if a value does not fit its field."""
        try:
            return _LAYOUT.pack(*(getattr(self, name) for name in FIELDS))
        except struct.error as error:
            raise ValueError(f"{self}: a value does not fit its field") from error

    @classmethod
    def decode(cls, payload: bytes | bytearray | memoryview) -> Header:
        """Read the first 28 bytes of an L4 payload. ValueError if there are fewer."""
        if len(payload) < HEADER_LEN:
            raise ValueError(f"{len(payload)} bytes are too few for the {HEADER_LEN}-byte header")
        return cls(*_LAYOUT.unpack_from(payload))

    def replace(self, **changes: int) -> Header:
        return dataclasses.replace(self, **changes)


FIELDS = tuple(field.name for field in dataclasses.fields(Header))


def offsets() -> dict[str, tuple[int, int]]:
    """Field -> (offset, size) in bytes."""
    layout: dict[str, tuple[int, int]] = {}
    offset = 0
    for name, code in zip(FIELDS, _LAYOUT.format.lstrip("!"), strict=True):
        size = struct.calcsize("!" + code)
        layout[name] = (offset, size)
        offset += size
    return layout
