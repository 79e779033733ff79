# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``python -m netclone_host.cli`` is ``netclone-host``."""

from netclone_host.cli import main

main(prog_name="netclone-host")
