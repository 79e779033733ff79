# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host doctor``."""

from __future__ import annotations

import dataclasses
import json
import sys

import click

from netclone_host.attach import requirements


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A list of records.")
def doctor(as_json: bool) -> None:
    """Try everything that NetClone needs of this machine, with a hint for what is missing. Exit
    status 1 if anything necessary is."""
    findings = requirements.examine()
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=1))
    else:
        for finding in findings:
            _print(finding)
    if any(finding.needed and not finding.ok for finding in findings):
        sys.exit(1)


def _print(finding: requirements.Finding) -> None:
    verdict = "ok" if finding.ok else "missing" if finding.needed else "absent"
    click.echo(f"{verdict:<8}{finding.name:<16}{finding.detail}")
    if finding.hint:
        click.echo(f"{'':<8}{'':<16}hint: {finding.hint}")
