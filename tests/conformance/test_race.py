# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two CPUs at once (xdp/native/race.c): of a million pairs of responses exactly one each is
delivered; of a million ids none comes twice; of a million requests of two packets each goes
one way, whatever the states do meanwhile. A client whose slots were idle for longer than its
window delivers exactly one of each pair, too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclone_host.attach import tables
from netclone_host.attach.clone_ports import pair_devmap
from netclone_host.attach.loaders.base import LoadedObject
from netclone_host.attach.loaders.libbpf import LibbpfLoader
from netclone_host.attach.roles import Role
from netclone_host.kernel.maps import DevmapValue
from tests.conformance.frames import server
from tests.conformance.runners import tables as form
from tests.conformance.writing import Book, address

PACKETS = {"pairs": 2_000_000, "ids": 1_000_000, "messages": 4_000_000}
"""Of a task. Messages: a packet and a response of each thread."""
LOOPBACK = 1
"""By which a frame of BPF_PROG_TEST_RUN comes in; it is redirected nowhere."""

RACE = Path(__file__).resolve().parents[2] / "build/native/race"


def race(*arguments: str, fd: int | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [RACE, *arguments],
        pass_fds=() if fd is None else (fd,),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("task", [*PACKETS, "answered"])
def test_library(task: str) -> None:
    result = race(task, "native")
    assert result.returncode == 0, result.stdout + result.stderr


def test_requests_in_flight_at_a_server() -> None:
    """Of entries that two CPUs take from each other none is left over in the count."""
    result = subprocess.run(
        [RACE.with_name("race_inflight")], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture
def switch() -> Iterator[LoadedObject]:
    """Servers 0 and 1, both busy at first."""
    scenario = Book().switch("race", "two CPUs", servers=2, racksched=True)
    with LibbpfLoader().load(Role.SWITCH, {}) as loaded:
        maps = loaded.maps
        for sid in range(2):
            maps["nc_servers"].update(sid, form.address(address(server(sid)), lambda _: LOOPBACK))
            maps["nc_state"].update(sid, 1)
        maps["nc_groups"].update_many({1: tables.Group(0, 1), 2: tables.Group(1, 0)})
        pair = pair_devmap()
        for position in range(2):
            pair.update(position, DevmapValue(LOOPBACK, 0))
        maps["nc_clone_ports"].update_many({1: pair.fd, 2: pair.fd})
        os.close(pair.fd)
        maps["nc_switch_cfg"].update(0, form.config_of(scenario))
        yield loaded


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: XDP")
@pytest.mark.parametrize("task", list(PACKETS))
def test_xdp(switch: LoadedObject, task: str) -> None:
    program = switch.programs["nc_switch_in"]
    result = race(task, "xdp", str(program), fd=program)
    assert result.returncode == 0, result.stdout + result.stderr
    counted = sum(
        sum(memoryview(value).cast("Q")) for value in switch.maps["nc_counters"].lookup_per_cpu(0)
    )
    assert counted == PACKETS[task]
