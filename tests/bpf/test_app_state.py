# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`--state app`: what the application writes decides about clones and stands in responses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from netclone_host.attach import status
from netclone_host.attach.app_state import AppState
from netclone_host.attach.attach import AttachRequest, attach
from netclone_host.attach.detach import detach
from netclone_host.attach.roles import Role
from netclone_host.attach.table_access import pinned_map
from netclone_host.attach.tables import MapName, StateSource
from netclone_host.errors import UserError
from netclone_host.kernel import libbpf, maps
from netclone_host.kernel.testrun import XdpAction, prog_test_run
from netclone_host.wire import Clo, Header, Type
from tests.bpf.frames import addressed

from .conftest import run

INCLUDE = Path(__file__).parents[2] / "xdp/include"
CLONE = bytes(
    Ether() / IP(src="10.0.1.1", dst="10.0.1.101") / UDP(sport=5000, dport=1000)
    / Header(req_id=7, grp=1, clo=Clo.CLONE).encode()
)  # fmt: skip
RESPONSE = bytes(
    Ether() / IP(src="10.0.1.101", dst="10.0.1.1") / UDP(sport=1000, dport=5000)
    / Header(type=Type.RESP, req_id=7, grp=1).encode()
)  # fmt: skip


@pytest.fixture
def programs(host: str) -> Iterator[tuple[int, int]]:
    """File descriptors of the XDP and the tc program of an attached server."""
    attachment = attach(
        AttachRequest((host,), Role.SERVER, server_id=3, state=StateSource.APP)
    ).attachment
    ids = status.describe(attachment)["programs"][host]
    fds = [libbpf.call("bpf_prog_get_fd_by_id", ids[hook]) for hook in ("xdp", "tc")]
    yield fds[0], fds[1]
    for fd in fds:
        os.close(fd)
    detach(host)


def test_the_applications_number_decides(host: str, programs: tuple[int, int]) -> None:
    ingress, egress = programs
    clone = addressed(CLONE, host)
    with AppState(host) as app:
        assert app.get() == 0
        assert prog_test_run(ingress, clone).retval == XdpAction.PASS
        app.set(3)
        assert prog_test_run(ingress, clone).retval == XdpAction.DROP
        stamped = Header.decode(prog_test_run(egress, RESPONSE).data_out[42:])
        assert (stamped.sid, stamped.state) == (3, 3)
        app.set(0)
        assert prog_test_run(ingress, clone).retval == XdpAction.PASS


def test_the_c_header_writes_the_same_number(
    host: str, programs: tuple[int, int], tmp_path: Path
) -> None:
    source = tmp_path / "app.c"
    source.write_text(
        "#include <netclone_app.h>\n"
        "int main(int argc, char **argv)\n{\n"
        "\tstruct netclone_app app;\n\n"
        "\tif (argc != 3 || netclone_app_open(&app, argv[1]) < 0)\n\t\treturn errno;\n"
        "\tnetclone_app_set(&app, (uint32_t)atoi(argv[2]));\n"
        "\tnetclone_app_close(&app);\n\treturn 0;\n}\n"
    )
    program = str(source.with_suffix(""))
    run("cc", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", str(source), "-o", program)
    run(program, host, "41")
    with AppState(host) as app:
        assert app.get() == 41
    assert prog_test_run(programs[0], addressed(CLONE, host)).retval == XdpAction.DROP


def test_without_a_server_there_is_no_number(host: str) -> None:
    with pytest.raises(UserError, match="no server is attached to eth0"):
        AppState(host)


def test_the_map_is_of_one_number(host: str, programs: tuple[int, int]) -> None:
    with pinned_map(status.attached_to(host), MapName.APP_STATE) as number:
        assert (number.type, number.max_entries) == (maps.MapType.ARRAY, 1)
