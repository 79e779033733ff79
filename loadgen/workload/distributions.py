# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Distributions of service times: one syntax in every command.

======================================  ====================================================
``const:1ms``                           always the same
``exp:25us``                            exponential with this mean
``bimodal:0.9:25us:250us``              the first with this probability, else the second
``trimodal:0.9:0.09:25us:100us:1ms``    probabilities of the first two, then three times
``lognormal:1.5:25us``                  sigma of the logarithm, then the mean
``pareto:2.1:25us``                     shape (above 1), then the mean
``weibull:0.5:25us``                    shape, then the mean
``twopoint:0.01:15:25us``               probability of a slow one, how many times as long as
                                        a fast one it takes, then the mean of all
``trace:FILE``                          durations of a file in order, one per line
======================================  ====================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from loadgen.workload.user_files import read_text
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError

FloatArray = npt.NDArray[np.float64]


class Kind(IntEnum):
    """`enum lg_dist_kind` of native/lib/distribution.h, in the same order."""

    CONST = 0
    EXP = 1
    BIMODAL = 2
    TRIMODAL = 3
    LOGNORMAL = 4
    PARETO = 5
    WEIBULL = 6
    TWOPOINT = 7
    TRACE = 8


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution of times. `params` as `enum lg_dist_kind` lists them, times in ns;
    `trace` in ns, only of `Kind.TRACE`."""

    text: str
    kind: Kind
    params: tuple[float, ...]
    trace: FloatArray | None = None

    @property
    def atoms(self) -> tuple[FloatArray, FloatArray] | None:
        """(values in ns, probabilities) of a discrete distribution, None of a continuous one."""
        p = self.params
        match self.kind:
            case Kind.CONST:
                return np.array([p[0]]), np.array([1.0])
            case Kind.BIMODAL:
                return np.array([p[1], p[2]]), np.array([p[0], 1 - p[0]])
            case Kind.TRIMODAL:
                return np.array(p[2:]), np.array([p[0], p[1], 1 - p[0] - p[1]])
            case Kind.TWOPOINT:
                fast = p[2] / (1 + p[0] * (p[1] - 1))
                return np.array([fast, fast * p[1]]), np.array([1 - p[0], p[0]])
            case Kind.TRACE:
                assert self.trace is not None
                values, counts = np.unique(self.trace, return_counts=True)
                return values, counts / counts.sum()
            case _:
                return None

    @property
    def mean_ns(self) -> float:
        """Mean in ns."""
        atoms = self.atoms
        if atoms is not None:
            return float(atoms[0] @ atoms[1])
        return self.params[-1]

    @property
    def scv(self) -> float:
        """Squared coefficient of variation; infinite for a Pareto shape of 2 or less."""
        atoms = self.atoms
        if atoms is not None:
            return max(0.0, float(atoms[0] ** 2 @ atoms[1]) / self.mean_ns**2 - 1)
        shape = self.params[0]
        match self.kind:
            case Kind.EXP:
                return 1.0
            case Kind.LOGNORMAL:
                return math.expm1(shape**2)
            case Kind.PARETO:
                return 1 / (shape * (shape - 2)) if shape > 2 else math.inf
            case _:
                return math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1

    def cdf(self, ns: FloatArray) -> FloatArray:
        """P(X <= x) for every x of `ns` (any shape)."""
        x = np.asarray(ns, dtype=np.float64)
        atoms = self.atoms
        if atoms is not None:
            order = np.argsort(atoms[0])
            upto = np.concatenate(([0.0], np.cumsum(atoms[1][order])))
            # A millionth of slack: values are computed in another order in C.
            return upto[np.searchsorted(atoms[0][order], x * (1 + 1e-6), side="right")]
        positive = np.maximum(x, 1e-300)
        shape, mean = self.params[0], self.params[-1]
        match self.kind:
            case Kind.EXP:
                return np.asarray(-np.expm1(-positive / mean))
            case Kind.LOGNORMAL:
                z = (np.log(positive / mean) + shape**2 / 2) / shape
                return np.asarray(0.5 * np.vectorize(math.erfc)(-z / math.sqrt(2)))
            case Kind.PARETO:
                scale = mean * (shape - 1) / shape
                return np.asarray(-np.expm1(-shape * np.log(np.maximum(positive / scale, 1))))
            case _:
                scale = mean / math.gamma(1 + 1 / shape)
                return np.asarray(-np.expm1(-((positive / scale) ** shape)))


_PROBABILITY, _SHAPE, _FACTOR, _TIME = "probability", "shape", "factor", "time"

# What stands between the colons: (name of the part, what it is).
_PARTS: dict[str, tuple[Kind, tuple[tuple[str, str], ...]]] = {
    "const": (Kind.CONST, (("value", _TIME),)),
    "exp": (Kind.EXP, (("mean", _TIME),)),
    "bimodal": (
        Kind.BIMODAL,
        (("probability of the first", _PROBABILITY), ("first", _TIME), ("second", _TIME)),
    ),
    "trimodal": (
        Kind.TRIMODAL,
        (
            ("probability of the first", _PROBABILITY),
            ("probability of the second", _PROBABILITY),
            ("first", _TIME),
            ("second", _TIME),
            ("third", _TIME),
        ),
    ),
    "lognormal": (Kind.LOGNORMAL, (("sigma", _SHAPE), ("mean", _TIME))),
    "pareto": (Kind.PARETO, (("shape", _SHAPE), ("mean", _TIME))),
    "weibull": (Kind.WEIBULL, (("shape", _SHAPE), ("mean", _TIME))),
    "twopoint": (
        Kind.TWOPOINT,
        (("probability of a slow one", _PROBABILITY), ("slow / fast", _FACTOR), ("mean", _TIME)),
    ),
}


def parse_distribution(text: str) -> Distribution:
    """The distribution that `text` names (syntax: module docstring).

    Raises `UserError` that says which part is wrong.
    """
    name, _, rest = text.strip().partition(":")
    if name == "trace":
        return _read_trace(text, rest)
    if name not in _PARTS:
        known = ", ".join([*_PARTS, "trace"])
        raise UserError(f"distribution '{text}': unknown kind '{name}'", f"known kinds: {known}")
    kind, parts = _PARTS[name]
    usage = ":".join([name, *(part.upper().replace(" ", "_") for part, _ in parts)])
    words = rest.split(":") if rest else []
    if len(words) != len(parts):
        raise UserError(
            f"distribution '{text}': {name} takes {len(parts)} parts, got {len(words)}",
            f"write it as {usage}",
        )
    params = [
        _parse_part(word, f"distribution '{text}', part {i + 1} ({part})", what)
        for i, (word, (part, what)) in enumerate(zip(words, parts, strict=True))
    ]
    if kind is Kind.PARETO and params[0] <= 1:
        raise UserError(
            f"distribution '{text}', part 1 (shape): {params[0]:g} has no finite mean",
            "the shape of a Pareto distribution must be above 1",
        )
    _check_shape(text, kind, params[0])
    if kind is Kind.TRIMODAL and params[0] + params[1] > 1:
        raise UserError(
            f"distribution '{text}', parts 1 and 2: the probabilities add up to more than 1",
            "the third value gets what the first two leave",
        )
    return Distribution(text.strip(), kind, tuple(params))


_EXTREME_SIGMA, _EXTREME_WEIBULL = 8.0, 0.1


def _check_shape(text: str, kind: Kind, shape: float) -> None:
    """A spread so wide that the mean lies in values which no run ever draws is a mistake."""
    hint = "nearly the whole mean would lie in values that no run ever draws"
    if kind is Kind.LOGNORMAL and shape > _EXTREME_SIGMA:
        raise UserError(
            f"distribution '{text}', part 1 (sigma): {shape:g} is above {_EXTREME_SIGMA:g}", hint
        )
    if kind is Kind.WEIBULL and shape < _EXTREME_WEIBULL:
        raise UserError(
            f"distribution '{text}', part 1 (shape): {shape:g} is below {_EXTREME_WEIBULL:g}", hint
        )


def _parse_part(word: str, where: str, what: str) -> float:
    if what == _TIME:
        return parse_duration_ns(word, where)
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if what == _PROBABILITY:
        if not 0 <= value <= 1:
            raise UserError(f"{where}: '{word}' is not a probability", "give a number from 0 to 1")
    elif not 0 < value < math.inf:
        raise UserError(f"{where}: '{word}' is not a number above 0", "give a number such as 2.1")
    return value


def _read_trace(text: str, name: str) -> Distribution:
    if not name:
        raise UserError(f"distribution '{text}': no file named", "write it as trace:FILE")
    try:
        lines = read_text(Path(name)).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise UserError(
            f"distribution '{text}': cannot read '{name}': {reason}",
            "give a text file with one duration per line, such as 25us",
        ) from error
    values = _trace_values(name, lines)
    if not values:
        raise UserError(
            f"distribution '{text}': '{name}' has no durations",
            "one duration per line, such as 25us",
        )
    return Distribution(text.strip(), Kind.TRACE, (), np.array(values, dtype=np.float64))


def _trace_values(name: str, lines: Sequence[str]) -> list[float]:
    values = []
    for number, line in enumerate(lines, start=1):
        word = line.partition("#")[0].strip()
        if word:
            values.append(parse_duration_ns(word, f"{name} line {number}"))
    return values
