# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line ``netclone-host``: one module a verb, imported only when used."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

import click

from netclone_host.errors import NetcloneError, PrivilegeError

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
}


class LazyGroup(click.Group):
    """A group whose commands are looked up in a table of modules.

    A :class:`NetcloneError` from any of them ends as two lines on standard error.
    """

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
        # A verb like "set" would hide a builtin: its function has an underscore more.
        command: click.Command = getattr(module, name, None) or getattr(module, f"{name}_")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NetcloneError as error:
            print_error(error)
            sys.exit(error.exit_status)
        except PermissionError as error:
            where = f" ({error.filename})" if error.filename else ""
            refused = PrivilegeError(f"this needs more privilege{where}", hint="run it with sudo")
            print_error(refused)
            sys.exit(refused.exit_status)


def print_error(error: NetcloneError) -> None:
    """One line on what failed, one on what to do."""
    click.echo(f"error: {error.message}", err=True)
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)


@click.group(cls=LazyGroup, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-v", "--verbose", is_flag=True, help="Show what libbpf and BCC have to say.")
@click.pass_context
def main(ctx: click.Context, verbose: bool) -> None:
    """Attach NetClone to interfaces, and look at what it does there."""
    ctx.ensure_object(dict)
    ctx.obj["verbose"] = verbose
    if verbose:
        from netclone_host.bpf import libbpf

        libbpf.log.verbose = True
