# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where ``netclone-host`` starts."""

from netclone_host.signals import run_command


def main() -> None:
    run_command("netclone_host.cli")
