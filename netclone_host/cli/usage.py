# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Wrong command lines, as errors in the form that all errors have here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import click
from click.core import ParameterSource

from netclone_host.errors import UserError

_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
# Asked for nothing, click answers with the help (click 8.2): no error.
_NO_ARGS: type[Exception] | tuple[()] = getattr(click.exceptions, "NoArgsIsHelpError", ())


def usage_error(error: click.ClickException) -> UserError | None:
    """An error of click's as one of ours; None for what is a call for help."""
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


def given(names: Iterable[str]) -> list[str]:
    """Those of the running command's parameters `names` that the user gave, as the user writes
    them; a default counts as given if it was written out."""
    context = click.get_current_context()
    options = {p.name: p.opts[0] for p in context.command.params}
    return [options[name] for name in names if context.get_parameter_source(name) in _GIVEN]


def refuse(names: Iterable[str], why: str, hint: str) -> None:
    """`UserError` "OPTION `why`" if one of the parameters `names` was given: without effect in the
    company of others it must not be ignored."""
    for option in given(names):
        raise UserError(f"{option} {why}", hint)


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
