# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attaches the rack's programs: each node's and each switch's, through the attach API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netclone_host.errors import UserError
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan


@dataclass(frozen=True)
class Options:
    """What `attach` is told for every node of the rack."""


def attach_all(
    plan: Plan, journal: Journal, options: Options, progress: Callable[[str], None]
) -> None:
    """Attach server, client and switch programs; each is in the journal before it is attached."""
    raise UserError("this build cannot attach programs yet", hint="give --no-attach")


def detach(namespace: str, links: Sequence[str]) -> None:
    """Remove what `attach_all` attached to links of a namespace."""
