# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`netclone-host rack` in a process of its own, as a user runs it."""

from __future__ import annotations

import subprocess
import sys

from netclone_host.rack.plan import Plan


def rack_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `netclone-host rack` with these arguments."""
    program = "from netclone_host.cli import main; main(prog_name='netclone-host')"
    return subprocess.run(
        [sys.executable, "-c", program, "rack", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def in_node(plan: Plan, node: str, *command: str) -> subprocess.CompletedProcess[str]:
    """`rack exec` of a command."""
    return rack_command("exec", "--name", plan.name, node, "--", *command)
