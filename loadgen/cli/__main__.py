# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``python -m loadgen.cli``: the same as ``netclone-loadgen``."""

from loadgen.cli import main

main(prog_name="netclone-loadgen")
