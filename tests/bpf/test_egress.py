# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The egress side next to programs and filters of somebody else's: ours comes first, and where it
does not, `status` tells."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from netclone_host.attach import status
from netclone_host.counters import Hook
from netclone_host.kernel import netns, tcx, tiny_programs
from netclone_host.kernel.tiny_programs import ProgramType
from netclone_host.wire import Header

from .commands import SERVER, done
from .conftest import ForeignFilter, Namespace, run, without_tcx

TCX_PASS = 0
CLIENT = ("--role", "client", "--servers", "2")


@pytest.fixture
def client_host(host: str) -> str:
    """A host that can send to 10.0.1.2 and nobody answers."""
    run("ip", "addr", "add", "10.0.1.1/24", "dev", host)
    run("ip", "neigh", "add", "10.0.1.2", "lladdr", "02:00:00:00:01:02", "dev", host)
    return host


@contextmanager
def foreign_tcx(ifname: str) -> Iterator[int]:
    """Somebody's program that lets everything pass, put first; its file descriptor."""
    program = tiny_programs.load(
        ProgramType.SCHED_CLS, "foreign_pass", tiny_programs.returning(TCX_PASS)
    )
    link = tcx.attach_first(program, socket.if_nametoindex(ifname))
    try:
        yield program
    finally:
        os.close(link)
        os.close(program)


def stamped(ifname: str) -> int:
    """How many of one request more the program saw."""
    attachment = status.attached_to(ifname)
    before = status.read_counters(attachment)[Hook.EGRESS]["request_stamped"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(Header().encode(), ("10.0.1.2", 1000))
    return status.read_counters(attachment)[Hook.EGRESS]["request_stamped"] - before


def record() -> tuple[str, list[str]]:
    """Health and notes of the only attachment."""
    (found,) = json.loads(done("status", "--json").stdout)
    return found["health"], found["notes"]


def test_a_foreign_tcx_program_that_was_there_hides_nothing(client_host: str) -> None:
    with foreign_tcx(client_host):
        done("attach", client_host, *CLIENT)
        assert stamped(client_host) == 1
        assert record() == ("attached", [])
        done("detach", client_host)
        assert len(tcx.programs(socket.if_nametoindex(client_host))) == 1


def test_a_foreign_tcx_program_that_came_first_later_is_told(client_host: str) -> None:
    done("attach", client_host, *CLIENT)
    with foreign_tcx(client_host):
        assert stamped(client_host) == 0
        health, notes = record()
        assert health == "preceded"
        assert len(notes) == 1 and '"foreign_pass" on egress of eth0 run' in notes[0]
        assert notes[0] in done("status").stdout.replace("\n", " ")
        done("detach", client_host)
        done("attach", client_host, *CLIENT)
        assert stamped(client_host) == 1
    assert record() == ("attached", [])
    done("detach", client_host)


def test_a_foreign_filter_under_clsact_comes_after_tcx(
    client_host: str, foreign_filter: ForeignFilter
) -> None:
    run("tc", "qdisc", "add", "dev", client_host, "clsact")
    foreign_filter(client_host, "egress", 1)
    done("attach", client_host, *CLIENT)
    assert stamped(client_host) == 1 and record() == ("attached", [])
    done("detach", client_host)


def test_under_clsact_a_filter_of_a_smaller_priority_is_told(
    host: str, foreign_filter: ForeignFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_tcx(monkeypatch)
    run("tc", "qdisc", "add", "dev", host, "clsact")
    foreign_filter(host, "egress", 9)
    done("attach", host, *SERVER)
    assert record() == ("attached", [])
    foreign_filter(host, "egress", 3)
    health, notes = record()
    assert health == "preceded" and "the filter of priority 3 on egress of eth0" in notes[0]
    done("detach", host)


def test_a_filter_of_an_earlier_version_behind_a_tcx_program_is_told(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        without_tcx(earlier)
        done("attach", host, *SERVER)
    with foreign_tcx(host):
        assert record()[0] == "preceded"
    assert record()[0] == "attached"
    done("detach", host)


def test_the_link_goes_along_where_the_interface_goes(namespace: Namespace) -> None:
    namespace.veth("eth0", "wire")
    name = f"nct-{os.getpid()}-far"
    run("ip", "netns", "add", name)
    try:
        done("attach", "eth0", *SERVER)
        run("ip", "link", "set", "eth0", "netns", name)
        with netns.entered(name):
            assert len(tcx.programs(socket.if_nametoindex("eth0"))) == 1
        done("detach", "eth0")
        with netns.entered(name):
            assert tcx.programs(socket.if_nametoindex("eth0")) == []
    finally:
        run("ip", "netns", "del", name)
