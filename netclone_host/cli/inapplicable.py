# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Options that say nothing in the company of others: an error, where they would be ignored."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.core import ParameterSource

from netclone_host.errors import UserError

_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def given(names: Iterable[str]) -> list[str]:
    """Of the parameters `names` of the running command those that the user gave, as the user
    writes them; a default that was written out counts as given."""
    context = click.get_current_context()
    options = {p.name: p.opts[0] for p in context.command.params}
    return [options[name] for name in names if context.get_parameter_source(name) in _GIVEN]


def refuse(names: Iterable[str], why: str, hint: str) -> None:
    """`UserError` if one of the parameters `names` was given: "OPTION `why`"."""
    for option in given(names):
        raise UserError(f"{option} {why}", hint)
