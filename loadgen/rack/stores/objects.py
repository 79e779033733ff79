# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keys and values by number, as native/traffic/store_object.h makes them, many at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

KEY_LEN = 16
VALUE_LEN = 64

Bytes = npt.NDArray[np.uint8]

_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_U64 = np.uint64


def keys(first: int, n: int) -> Bytes:
    """Keys of the objects `first` to `first + n - 1`: n rows of 16 bytes."""
    rows = np.empty((n, KEY_LEN), dtype=np.uint8)
    rows[:, 0] = ord("k")
    number = np.arange(first, first + n, dtype=np.int64)
    for column in range(KEY_LEN - 1, 0, -1):
        rows[:, column] = ord("0") + number % 10
        number //= 10
    return rows


def values(first: int, n: int) -> Bytes:
    """Values of the same objects: n rows of 64 hexadecimal digits."""
    rows = np.empty((n, VALUE_LEN), dtype=np.uint8)
    state = np.arange(first, first + n, dtype=_U64)
    for word in range(VALUE_LEN // 16):
        state, bits = _splitmix64(state)
        for digit in range(15, -1, -1):
            rows[:, 16 * word + digit] = _HEX[(bits & _U64(15)).astype(np.intp)]
            bits = bits >> _U64(4)
    return rows


def _splitmix64(
    state: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """(next state, output); arithmetic modulo 2^64."""
    state = state + _U64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U64(27))) * _U64(0x94D049BB133111EB)
    return state, z ^ (z >> _U64(31))
