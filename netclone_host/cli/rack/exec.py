# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-host rack exec``: run a program inside a node."""

from __future__ import annotations

import os

import click

from netclone_host.cli.rack.options import name_option
from netclone_host.rack import build, execute, status


@click.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("node")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@name_option
def exec(node: str, command: tuple[str, ...], rack: str) -> None:
    """Run COMMAND in the namespace of NODE (c1, s1, sw); its exit status is passed on.

    The command sees the node's links in /sys/class/net, and the machine's files.
    """
    build.require_root()
    plan = status.plan_of(rack)
    namespace = plan.namespace(node)
    status.require_namespace(plan, node)
    os.environ["NETCLONE_RACK"] = rack
    execute.run_inside(namespace, command)
