# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line ``netclone-loadgen``: one module a verb, imported only when used.

Exit status: 0 all is well; 2 an error of the user; 3 a run that could not keep its
schedule or ended early (its record says so); 4 a check that failed.
"""

from __future__ import annotations

import click

from netclone_host.cli import LazyGroup

EXIT_SCHEDULE = 3
EXIT_CHECK = 4

# Verb -> module that holds a click command of the same name.
VERBS = {
    "client": "loadgen.cli.client",
    "server": "loadgen.cli.server",
    "coordinator": "loadgen.cli.coordinator",
    "sweep": "loadgen.cli.sweep",
    "plot": "loadgen.cli.plot",
    "check": "loadgen.cli.check",
    "simulate": "loadgen.cli.simulate",
    "figure": "loadgen.cli.figure",
    "advise": "loadgen.cli.advise",
}


@click.group(cls=LazyGroup, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Generate load for NetClone and the schemes it is compared with, and measure it."""
