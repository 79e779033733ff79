# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A measured value beside its target, and whose doing it is when it is off.

A machine that stands still (a hypervisor takes the processor away, another program has it) makes
late what is due meanwhile. That is no proof against the generator, and none for it: such a value
has a verdict of its own, with the evidence, and is measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from loadgen.machine.priority import stolen_s
from loadgen.native.stalls import Stalls

ATTEMPTS = 3
"""So often is measured what the machine disturbed."""


class Verdict(StrEnum):
    """What a check came to."""

    OK = "ok"
    GENERATOR = "generator"
    """Off, and nothing but the generator to blame."""
    MACHINE = "machine"
    """Off, and within the tolerance without what stalls of the machine held."""


@dataclass(frozen=True)
class Check:
    """One measured value beside its target."""

    name: str
    value: float
    target: float
    tolerance: float
    """Largest allowed |value - target|, absolute."""
    unit: str
    undisturbed: float | None = None
    """The value without what stalls held; None: no stall was seen, or none can matter."""
    evidence: str = ""
    """Of the stalls."""
    attempt: int = 1
    superseded: bool = False
    """True: it was measured again, and only the later value counts."""

    def _holds(self, value: float) -> bool:
        return abs(value - self.target) <= self.tolerance

    @property
    def passed(self) -> bool:
        """Within the tolerance."""
        return self._holds(self.value)

    @property
    def verdict(self) -> Verdict:
        """Whose doing the value is."""
        if self.passed:
            return Verdict.OK
        if self.undisturbed is not None and self._holds(self.undisturbed):
            return Verdict.MACHINE
        return Verdict.GENERATOR


def disturbed(check: Check, undisturbed: float, stalls: Stalls, held: str) -> Check:
    """`check` with what it would be without `stalls`, which held so many `held` ("sends")."""
    if not stalls.held:
        return check
    return replace(check, undisturbed=undisturbed, evidence=stalls.describe(held))


def settle(measure: Callable[[], Sequence[Check]]) -> Iterator[Check]:
    """The checks of `measure`; it is called again while all that is off is the machine's doing,
    at most `ATTEMPTS` times in all."""
    for attempt in range(1, ATTEMPTS + 1):
        stolen = stolen_s()
        checks = measure()
        stolen = stolen_s() - stolen
        verdicts = {check.verdict for check in checks}
        again = (
            attempt < ATTEMPTS and Verdict.MACHINE in verdicts and Verdict.GENERATOR not in verdicts
        )
        for check in checks:
            evidence = check.evidence
            if evidence and stolen:
                evidence += f"; the hypervisor took {stolen * 1e3:.0f} ms of its processors"
            yield replace(check, evidence=evidence, attempt=attempt, superseded=again)
        if not again:
            return
