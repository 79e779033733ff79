# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What click has to say of a command line, in the form that all errors have here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import click

from netclone_host.errors import UserError

# Nothing was asked for: that is answered by the help, not by an error (click 8.2).
_NO_ARGS: type[Exception] | tuple[()] = getattr(click.exceptions, "NoArgsIsHelpError", ())


def usage_error(error: click.ClickException) -> UserError | None:
    """The sentence and the hint of an error of click's; None for what is a call for help."""
    if _NO_ARGS and isinstance(error, _NO_ARGS):
        return None
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = context.command_path if context else "netclone-host"
    hint = f"'{where} --help' shows what it takes"
    match error:
        case click.NoSuchOption():
            return UserError(
                f"there is no option {error.option_name}",
                hint=_did_you_mean(error.option_name, error.possibilities or ()) or hint,
            )
        case click.MissingParameter() if error.param is not None:
            return UserError(
                f"{_name_of(error.param)} is missing", hint=_choices_of(error.param) or hint
            )
        case click.BadParameter() if error.param is not None:
            return UserError(f"{_name_of(error.param)}: {_clause(error.message)}", hint)
        case _:
            return UserError(_lowered(_clause(error.format_message())), hint)


def no_such_verb(name: str, verbs: Iterable[str], group: str) -> UserError:
    """`group` has no verb of that name."""
    known = list(verbs)
    return UserError(
        f"'{group}' has no verb '{name}'",
        hint=_did_you_mean(name, known) or f"its verbs are {', '.join(known)}",
    )


def _did_you_mean(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else None


def _name_of(param: click.Parameter) -> str:
    """As the user writes it."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.human_readable_name.strip("[]").removesuffix("...")


def _choices_of(param: click.Parameter) -> str | None:
    if not isinstance(param.type, click.Choice):
        return None
    return f"give one of {', '.join(map(str, param.type.choices))}"


def _clause(text: str) -> str:
    """Without line breaks and the full stop."""
    return " ".join(text.split()).removesuffix(".")


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
