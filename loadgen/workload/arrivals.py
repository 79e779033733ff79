# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""When requests are due: `poisson`, `constant`, `bursty:N`, `trace:FILE`."""

from __future__ import annotations

from dataclasses import dataclass

from loadgen.workload.distributions import Distribution, Kind, parse_distribution
from netclone_host.durations import whole_number
from netclone_host.errors import UserError

SLOWEST_RPS, FASTEST_RPS = 1e-6, 1e12


@dataclass(frozen=True)
class Arrivals:
    """A process of arrivals of which only the rate is left open."""

    text: str
    kind: Kind
    burst: int = 1
    """Requests due at the same instant."""
    trace: Distribution | None = None

    def gaps(self, rate_rps: float) -> tuple[Distribution, float]:
        """Distribution of the gaps between bursts, and how many times as long they are.

        The gaps of a trace keep their shape and are stretched to the rate. Raises `UserError` for
        a rate out of range.
        """
        if not SLOWEST_RPS <= rate_rps <= FASTEST_RPS:
            raise UserError(
                f"a rate of {rate_rps:g} requests per second is out of range",
                f"give one from {SLOWEST_RPS:g} to {FASTEST_RPS:g}",
            )
        mean_ns = self.burst * 1e9 / rate_rps
        if self.trace is not None:
            return self.trace, mean_ns / self.trace.mean_ns
        return Distribution(self.text, self.kind, (mean_ns,)), 1.0


POISSON = Arrivals("poisson", Kind.EXP)
CONSTANT = Arrivals("constant", Kind.CONST)


def parse_arrivals(text: str) -> Arrivals:
    """The process that `text` names; raises `UserError` that says which part is wrong."""
    name, _, rest = text.strip().partition(":")
    hint = "one of poisson, constant, bursty:N (N at once, exponential gaps), trace:FILE"
    match name:
        case "poisson" if not rest:
            return POISSON
        case "constant" if not rest:
            return CONSTANT
        case "bursty":
            at_once = whole_number(rest, 0)
            if not 1 <= at_once <= 10_000:
                raise UserError(f"arrivals '{text}', part 1: '{rest}' is not 1 to 10000", hint)
            return Arrivals(text.strip(), Kind.EXP, at_once)
        case "trace":
            return Arrivals(text.strip(), Kind.TRACE, trace=parse_distribution(text))
        case _:
            raise UserError(f"arrivals '{text}': unknown kind '{name}'", hint)
