# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen check``: prove the generator on this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from loadgen.check.checks import all_checks
from loadgen.check.deviation import Check, Verdict
from loadgen.cli import EXIT_CHECK, EXIT_SCHEDULE
from loadgen.cli.output import emit_object, writable
from loadgen.cli.types import positive

_WORDS = {Verdict.OK: "ok", Verdict.GENERATOR: "FAIL", Verdict.MACHINE: "STALL"}


def _lines(check: Check) -> list[str]:
    lines = [
        f"{_WORDS[check.verdict]:5} {check.name:44} {check.value:12.5g} {check.unit:3} "
        f"target {check.target:.5g} +- {check.tolerance:.3g}"
    ]
    if check.verdict is not Verdict.OK and check.undisturbed is not None:
        lines.append(f"      {check.evidence}; without them {check.undisturbed:.5g}")
    return lines


@click.command()
@click.option("--rate", type=float, default=5_000, show_default=True, help="Requests per second.")
@click.option("--requests", type=click.IntRange(1000), default=50_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--json",
    "json_to",
    callback=writable,
    help="Write the results to this file, - for standard output.",
)
def check(rate: float, requests: int, seed: int, json_to: str | None) -> None:
    """Measure rate, gaps, distributions and service times against what they should be.

    Exit status 4 when one of them is off; 3 when all that is off (STALL) is so because the
    machine stood still, three times in a row.
    """
    results = []
    for result in all_checks(positive(rate, "--rate"), requests, seed):
        results.append(result)
        if json_to != "-":
            click.echo("\n".join(_lines(result)))
    if json_to:
        rows = [asdict(r) | {"passed": r.passed, "verdict": r.verdict} for r in results]
        emit_object(rows, json_to)
    verdicts = {r.verdict for r in results if not r.superseded}
    if Verdict.GENERATOR in verdicts:
        sys.exit(EXIT_CHECK)
    if Verdict.MACHINE in verdicts:
        sys.exit(EXIT_SCHEDULE)
