# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every verb of both programs answers a command line that makes no sense with one sentence,
one hint and exit status 2, as it answers everything else that a user can get wrong."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from loadgen.cli import main as netclone_loadgen
from netclone_host.cli import main as netclone_host

PROGRAMS = {"netclone-host": netclone_host, "netclone-loadgen": netclone_loadgen}


def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for verb in command.list_commands(click.Context(command)):
            child = command.get_command(click.Context(command), verb)
            assert child is not None
            yield from walk(child, (*path, verb))


PATHS = [path for name, program in PROGRAMS.items() for path in walk(program, (name,))]
every_verb = pytest.mark.parametrize("path", PATHS, ids=" ".join)
# "rack exec" hands options on to the program that it runs.
every_verb_with_options = pytest.mark.parametrize(
    "path", [path for path in PATHS if path[-1] != "exec"], ids=" ".join
)


def command_at(path: tuple[str, ...]) -> click.Command:
    command: click.Command = PROGRAMS[path[0]]
    for verb in path[1:]:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), verb)
        assert found is not None
        command = found
    return command


def options_of(path: tuple[str, ...]) -> list[click.Option]:
    return [param for param in command_at(path).params if isinstance(param, click.Option)]


def refused(path: tuple[str, ...], *words: str) -> tuple[str, str]:
    """The sentence and the hint that the command answers with."""
    result = CliRunner().invoke(PROGRAMS[path[0]], (*path[1:], *words), prog_name=path[0])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    error, hint = result.stderr.splitlines()
    assert error.startswith("error: ") and not error.endswith("."), error
    assert hint.startswith("hint: "), hint
    return error.removeprefix("error: "), hint.removeprefix("hint: ")


def given(option: click.Option, value: str) -> tuple[str, ...]:
    return (max(option.opts, key=len), value)


def required(path: tuple[str, ...], but: click.Parameter | None = None) -> tuple[str, ...]:
    """Words for all that the command cannot do without."""
    words: list[str] = []
    for param in command_at(path).params:
        if not param.required or param is but:
            continue
        if isinstance(param, click.Option):
            words += given(param, _some_value(param))
        else:
            words.append(_some_value(param))
    return tuple(words)


def _some_value(param: click.Parameter) -> str:
    if isinstance(param.type, click.Choice):
        return str(next(iter(param.type.choices)))
    return "2"


def test_the_walk_found_the_verbs() -> None:
    assert ("netclone-host", "client", "set") in PATHS
    assert ("netclone-host", "switch", "remove-server") in PATHS
    assert ("netclone-loadgen", "advise", "handshake") in PATHS
    assert len(PATHS) > 25


@every_verb_with_options
def test_an_option_that_there_is_not(path: tuple[str, ...]) -> None:
    sentence, hint = refused(path, "--frobnicate-it")
    assert sentence == "there is no option --frobnicate-it"
    assert hint == f"'{' '.join(path)} --help' shows what it takes"


@every_verb_with_options
def test_an_option_that_is_almost_one(path: tuple[str, ...]) -> None:
    for option in options_of(path):
        name = max(option.opts, key=len)
        sentence, hint = refused(path, f"{name}z")
        assert sentence == f"there is no option {name}z"
        assert hint.startswith("did you mean --")


@every_verb
def test_a_value_of_the_wrong_kind(path: tuple[str, ...]) -> None:
    for option in options_of(path):
        if not option.is_flag and not isinstance(option.type, click.STRING.__class__ | click.Path):
            words = required(path, but=option)
            sentence, _ = refused(path, *given(option, "no-such-value"), *words)
            assert sentence.startswith(f"{max(option.opts, key=len)}: 'no-such-value' is not ")


@every_verb
def test_an_option_without_its_value(path: tuple[str, ...]) -> None:
    for option in options_of(path):
        if not option.is_flag:
            sentence, _ = refused(path, *required(path, but=option), given(option, "")[0])
            assert sentence == f"option '{max(option.opts, key=len)}' requires an argument"


@every_verb
def test_something_that_is_missing(path: tuple[str, ...]) -> None:
    for param in command_at(path).params:
        if param.required:
            sentence, hint = refused(path, *required(path, but=param))
            assert sentence.endswith(" is missing")
            if isinstance(param.type, click.Choice):
                assert hint.startswith("give one of ")


@every_verb
def test_one_word_too_many(path: tuple[str, ...]) -> None:
    command = command_at(path)
    if any(param.nargs == -1 for param in command.params):
        return  # takes any number of words
    sentence, _ = refused(path, *required(path), "one", "two", "three")
    if isinstance(command, click.Group):
        assert sentence == f"'{' '.join(path)}' has no verb 'one'"
    else:
        assert sentence.startswith("got unexpected extra argument")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("netclone-host", "atach"), "did you mean attach?"),
        (("netclone-host", "zzz"), "its verbs are attach, detach, status"),
        (("netclone-host", "switch", "add-servr"), "did you mean add-server?"),
        (("netclone-host", "client", "zzz"), "its verbs are set"),
        (("netclone-loadgen", "advise", "handshak"), "did you mean handshake?"),
    ],
)
def test_a_verb_that_there_is_not(words: tuple[str, ...], hint: str) -> None:
    assert refused(words)[1].startswith(hint)


def test_a_line_break_in_what_was_written_makes_no_third_line() -> None:
    sentence, _ = refused(("netclone-host",), "attach", "a\nb", "--role", "server")
    assert "a" in sentence


@pytest.mark.parametrize("words", [(), ("switch",), ("rack",), ("client",)])
def test_nothing_asked_for_is_answered_by_the_help(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(netclone_host, words)
    assert "Usage: " in result.output and "error" not in result.output
