# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line ``netclone-host``: one module a verb, imported only when used."""

from __future__ import annotations

import importlib
import importlib.util
import signal
import sys
import threading
from functools import partial
from typing import Any, NoReturn

import click

from netclone_host.cli.usage import no_such_verb, usage_error
from netclone_host.errors import NetcloneError
from netclone_host.signals import interrupted
from netclone_host.system_errors import refusal

# Verb -> module that holds a click command of the same name.
VERBS = {
    "attach": "netclone_host.cli.attach",
    "detach": "netclone_host.cli.detach",
    "status": "netclone_host.cli.status",
    "stats": "netclone_host.cli.stats",
    "doctor": "netclone_host.cli.doctor",
    "rack": "netclone_host.cli.rack",
    "switch": "netclone_host.cli.switch",
    "client": "netclone_host.cli.client",
    "agent": "netclone_host.cli.agent",
}


class Group(click.Group):
    """A group of verbs. Reports whatever ends one of them, a :class:`NetcloneError`, a refusal of
    the system or an error of click's, in two lines on standard error."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            # The outermost group reports.
            if parent is not None or (failed := usage_error(error)) is None:
                raise
            _fail(failed)
        except OSError as error:  # such as writing the help to a full disk
            if parent is not None or (refused := refusal(error)) is None:
                raise
            _fail(refused)
        except KeyboardInterrupt:
            if parent is not None:
                raise
            interrupted()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            raise no_such_verb(name, self.list_commands(ctx), ctx.command_path)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.parent is None:
            _end_in_order(ctx)
        try:
            return super().invoke(ctx)
        except NetcloneError as error:
            _fail(error)
        except KeyboardInterrupt:
            interrupted()
        except click.ClickException as error:
            if (failed := usage_error(error)) is None:
                raise
            _fail(failed)
        except Exception as error:
            refused = refusal(error)
            if refused is None or ctx.find_root().params.get("verbose"):
                raise
            _fail(refused)


def _fail(error: NetcloneError) -> NoReturn:
    print_error(error)
    sys.exit(error.exit_status)


class LazyGroup(Group):
    """A group that imports a command's module when the command is used."""

    def __init__(self, *args: Any, verbs: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb in self._verbs if importlib.util.find_spec(self._verbs[verb])]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(self._verbs[cmd_name])
        name = cmd_name.replace("-", "_")
        # A verb like "set" would hide a builtin, so its function is called set_.
        command: click.Command = getattr(module, name, None) or getattr(module, f"{name}_")
        return command


def print_error(error: NetcloneError) -> None:
    """One line on what failed, one on what to do."""
    for what, text in (("error", error.message), ("hint", error.hint)):
        if text:
            # What the user wrote may contain line breaks.
            click.echo(f"{what}: {' '.join(text.splitlines())}", err=True)


@click.group(cls=LazyGroup, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-v", "--verbose", is_flag=True, help="Show the messages of libbpf and BCC.")
@click.pass_context
def main(ctx: click.Context, verbose: bool) -> None:
    """Attach NetClone to interfaces, and see what it does there."""
    ctx.ensure_object(dict)
    ctx.obj["verbose"] = verbose
    if verbose:
        from netclone_host.kernel import libbpf

        libbpf.log.verbose = True


def _end_in_order(ctx: click.Context) -> None:
    """SIGTERM and SIGHUP end a command like SIGINT does: what it must restore is restored."""
    if threading.current_thread() is not threading.main_thread():
        return

    def end(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        # The parent may have had it ignored (nohup).
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
            ctx.call_on_close(partial(signal.signal, number, signal.SIG_DFL))
