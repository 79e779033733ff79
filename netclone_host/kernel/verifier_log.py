# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The verifier's log, cut to the line that matters."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What the verifier prints besides its verdict: instructions, register states, totals.
_INSTRUCTION = re.compile(r"^\d+: \([0-9a-f]{2}\) ")
_NOISE = re.compile(
    r"^(\d+: R\d|; |from \d+ to \d+|processed \d+ insns|verification time|stack depth"
    r"|func#|Validating |last_idx|regs=|mark_precise|-- |arg#|\s*$)"
)


def line_that_matters(log: Sequence[str]) -> str:
    """The verdict, the source line or instruction before it, and how much was left out.

    `log` are the lines of one program's verifier log; an empty one gives "".
    """
    verdict_at = next(
        (
            at
            for at in reversed(range(len(log)))
            if not _INSTRUCTION.match(log[at]) and not _NOISE.match(log[at])
        ),
        None,
    )
    if verdict_at is None:
        return log[-1] if log else ""
    source = next((line[2:] for line in reversed(log[:verdict_at]) if line.startswith("; ")), "")
    instruction = next(
        (line for line in reversed(log[:verdict_at]) if _INSTRUCTION.match(line)), ""
    )
    where = source or instruction
    shown = log[verdict_at].strip() + (f" (at: {where.strip()})" if where else "")
    left_out = len(log) - 1 - bool(where)
    return f"{shown}; {left_out} lines left out, -v shows them" if left_out > 0 else shown


def from_libbpf(messages: Sequence[str]) -> list[str]:
    """The verifier's lines among libbpf's messages."""
    for message in messages:
        if "BEGIN PROG LOAD LOG" in message:
            body = message.split("BEGIN PROG LOAD LOG --\n", 1)[-1]
            return body.split("-- END PROG LOAD LOG", 1)[0].splitlines()
    return []
