# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen check``: prove the generator on this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from loadgen.checks import Check, all_checks
from loadgen.cli import EXIT_CHECK
from loadgen.cli.output import emit_object, writable
from loadgen.cli.types import positive


def _line(check: Check) -> str:
    verdict = "ok  " if check.passed else "FAIL"
    return (
        f"{verdict} {check.name:44} {check.value:12.5g} {check.unit:3} "
        f"target {check.target:g} +- {check.tolerance:.3g}"
    )


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

    Exit status 4 when one of them is off.
    """
    results = []
    for result in all_checks(positive(rate, "--rate"), requests, seed):
        results.append(result)
        if json_to != "-":
            click.echo(_line(result))
    if json_to:
        emit_object([asdict(r) | {"passed": r.passed} for r in results], json_to)
    if not all(r.passed for r in results):
        sys.exit(EXIT_CHECK)
