# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line in this process, and the programs that it put on an interface."""

from __future__ import annotations

import socket

from click.testing import CliRunner, Result

from netclone_host.cli import main
from netclone_host.kernel import tc, tcx, xdp

SERVER = ("--role", "server", "--server-id", "0")


def netclone_host(*words: str) -> Result:
    """`netclone-host` with these words."""
    return CliRunner().invoke(main, words)


def done(*words: str) -> Result:
    """The same, which must succeed."""
    result = netclone_host(*words)
    assert result.exit_code == 0, result.output
    return result


def programs_on(ifname: str) -> list[int]:
    """Ids of the XDP programs, then of the tc programs at egress."""
    index = socket.if_nametoindex(ifname)
    egress = tcx.programs(index) + [program for _, program in tc.egress_programs(index)]
    return [program for _, program in xdp.query(index).programs()] + egress
