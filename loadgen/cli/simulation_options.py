# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Options that `simulate`, `figure` and `advise` share."""

from __future__ import annotations

import click

seed_option = click.option(
    "--seed", type=int, default=1, show_default=True, help="The same seed gives the same bytes."
)
processes_option = click.option(
    "--processes", type=click.IntRange(1), help="Processes to simulate in.  [one per processor]"
)
scheduler_option = click.option(
    "--scheduler", metavar="ADDRESS", help="Simulate on the Dask cluster of this scheduler."
)
