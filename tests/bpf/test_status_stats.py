# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `status` and `stats` show, of real packets on a real interface."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from netclone_host import topology
from netclone_host.attach import status, tables
from netclone_host.attach.attach import AttachRequest, Mode, attach
from netclone_host.attach.detach import detach
from netclone_host.attach.journal import Attachment
from netclone_host.attach.roles import Role
from netclone_host.attach.table_access import pinned_config, pinned_map
from netclone_host.attach.tables import MapName
from netclone_host.cli import main
from netclone_host.control.xdp import current_settings
from netclone_host.kernel import netns
from netclone_host.wire import Clo, Header

from .conftest import TOPOLOGY, lose, run
from .frames import addressed, frame


def output(*words: str) -> str:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return result.output


def send(interface: str, data: bytes, times: int = 1) -> None:
    """Frames out of an interface: its veth peer receives them."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as channel:
        channel.bind((interface, 0))
        for _ in range(times):
            channel.send(data)


@pytest.fixture
def server(host: str) -> Iterator[str]:
    # No traffic but the test's own: neighbour discovery would be counted too.
    for end in (host, "wire"):
        run("sysctl", "-q", "-w", f"net.ipv6.conf.{end}.disable_ipv6=1")
    # Longer than a busy machine may need between a packet and a look at the counters.
    minute_ns = 60_000_000_000
    attach(
        AttachRequest((host,), Role.SERVER, server_id=3, workers=1, request_timeout_ns=minute_ns)
    )
    yield host
    detach(host)


def stats_when(interface: str, packets: int) -> dict[str, Any]:
    """The counters once that many packets are in."""
    deadline = time.monotonic() + 10
    while True:
        record: dict[str, Any] = json.loads(output("stats", interface, "--json"))
        if record["hooks"]["ingress"]["packets"] >= packets or time.monotonic() > deadline:
            return record


def test_packets_in_are_the_sum_of_the_reasons(server: str) -> None:
    before = json.loads(output("stats", server, "--json"))["hooks"]["ingress"]["packets"]
    for req_id in (1, 2, 3):
        send("wire", addressed(frame(Header(grp=1, req_id=req_id)), "eth0"))
    send("wire", addressed(frame(Header(grp=1, req_id=4, clo=Clo.CLONE)), "eth0"), times=5)
    send("wire", bytes(12) + b"\x88\xb5" + bytes(60), times=2)
    record = stats_when(server, before + 10)
    ingress = record["hooks"]["ingress"]
    assert ingress["packets"] - before == 10
    assert ingress["packets"] == sum(ingress["counters"].values())
    assert ingress["counters"]["request_admitted"] == 3
    assert ingress["counters"]["dropped_server_busy"] == 5
    assert record["in_flight"] == 3
    assert record["hooks"].keys() == {"ingress", "egress"}


def test_requests_without_an_answer_leave_the_count(host: str) -> None:
    """Also while nothing comes in: the count is the program's, not what its table has left."""
    attach(
        AttachRequest((host,), Role.SERVER, server_id=3, workers=1, request_timeout_ns=10_000_000)
    )
    for req_id in (1, 2, 3):
        send("wire", addressed(frame(Header(grp=1, req_id=req_id)), "eth0"))
    stats_when(host, 3)
    time.sleep(0.1)
    attachment = status.attached_to(host)
    assert status.read_in_flight(attachment) == 0
    assert pinned_config(attachment, tables.Slices).in_flight() > 0
    detach(host)


def test_what_a_deleted_namespace_left_can_be_listed_and_cleared(
    clean_slate: None, host: str
) -> None:
    name = f"nct-{os.getpid()}-gone"
    run("ip", "netns", "add", name)
    with netns.entered(name):
        gone_inode = netns.current().inode
        run("ip", "link", "add", "eth9", "type", "veth", "peer", "name", "wire9")
        output("attach", "eth9", "--role", "server", "--server-id", "9")
    output("attach", host, "--role", "server", "--server-id", "1")
    run("ip", "netns", "del", name)
    deadline = time.monotonic() + 20
    while True:
        shown = json.loads(output("status", "--all", "--json"))
        health = {record["interfaces"][0]: record["health"] for record in shown}
        if health["eth9"] == "stale" or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert health == {"eth9": "stale", host: "attached"}
    assert str(gone_inode) in output("status", "--all")
    assert output("detach", "--gone") == f"cleared server of eth9, net {gone_inode}\n"
    assert output("detach", "--gone") == ""
    assert [record["interfaces"] for record in json.loads(output("status", "--all", "--json"))] == [
        [host]
    ]
    output("detach", host)


def test_detach_takes_an_interface_or_gone(host: str) -> None:
    for words in (("detach",), ("detach", host, "--gone")):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 2
        assert result.output.startswith("error: detach takes either an interface or --gone\nhint: ")


def test_the_table_for_people_names_reasons(server: str) -> None:
    before = json.loads(output("stats", server, "--json"))["hooks"]["ingress"]["packets"]
    send("wire", addressed(frame(Header(grp=1, req_id=1)), "eth0"))
    stats_when(server, before + 1)
    text = output("stats", server)
    assert "request_admitted" in text and "handed to the server" in text
    assert "in flight" in text


def test_watch_goes_on_until_interrupted(server: str) -> None:
    words = (sys.executable, "-m", "netclone_host.cli", "stats", server, "--watch", "--json")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        lines = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=20) == 0
    assert lines[0]["time_ns"] < lines[1]["time_ns"]
    assert all(line["role"] == "server" for line in lines)


def test_status_lists_what_is_attached(server: str) -> None:
    (record,) = json.loads(output("status", "--json"))
    assert record["interfaces"] == [server]
    assert (record["role"], record["health"], record["mode"]) == ("server", "attached", "native")
    assert record["settings"]["server_id"] == 3
    assert record["programs"][server].keys() == {"xdp", "tc"}
    assert "attached" in output("status")
    assert json.loads(output("status", "--json", "--all"))[0]["interfaces"] == [server]


def test_status_knows_when_somebody_took_the_program_off(server: str) -> None:
    attachment = status.attached_to(server)
    lose(attachment.link_pin(attachment.ports[0]))
    (record,) = json.loads(output("status", "--json"))
    assert record["health"] == "detached"


def test_nothing_attached(host: str) -> None:
    assert output("status", "--json") == "[]\n"
    assert "not attached to any interface" in output("status")


def test_a_switch_shows_the_state_of_each_server(switch_ports: list[str]) -> None:
    rack = topology.loads(TOPOLOGY)
    attach(AttachRequest(tuple(switch_ports), Role.SWITCH, topology=rack))
    with pinned_map(status.attached_to("p0"), MapName.STATE) as states:
        states.update(1, 4)
    record = json.loads(output("stats", "p2", "--json"))
    assert record["states"] == {"0": 0, "1": 4}
    assert record["hooks"].keys() == {"ingress", "clone"}
    assert "state of server 1" in output("stats", "p0")
    detach("p0")


def test_a_switch_in_generic_mode_is_told_so(switch_ports: list[str]) -> None:
    """Partial checksums survive there, so the program treats them differently."""
    rack = topology.loads(TOPOLOGY)
    for mode, flag in ((Mode.GENERIC, tables.SwitchFlag.GENERIC), (Mode.NATIVE, 0)):
        attach(AttachRequest(tuple(switch_ports), Role.SWITCH, topology=rack, mode=mode))
        config = pinned_config(status.attached_to("p0"), tables.SwitchConfig)
        assert config.flags & tables.SwitchFlag.GENERIC == flag
        detach("p0")


def test_a_switch_has_one_mode_on_all_ports(switch_ports: list[str]) -> None:
    """The last port cannot do native mode: all are generic, and the program knows."""
    run("ip", "link", "set", "p2-wire", "mtu", "9000")
    rack = topology.loads(TOPOLOGY)
    result = attach(AttachRequest(tuple(switch_ports), Role.SWITCH, topology=rack))
    assert result.mode == "generic" and "p2: " in result.attachment.reason
    config = pinned_config(status.attached_to("p0"), tables.SwitchConfig)
    assert config.flags & tables.SwitchFlag.GENERIC
    detach("p0")


def test_a_client_that_cannot_be_recorded_is_not_changed(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output("attach", host, "--role", "client", "--servers", "4")

    def full(_self: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/run/netclone")

    with monkeypatch.context() as broken:
        broken.setattr(Attachment, "save", full)
        refused = CliRunner().invoke(main, ("client", "set", host, "--servers", "5"))
    assert refused.exit_code == 2 and "No space left on device (/run/netclone)" in refused.output
    assert current_settings.client_servers(status.attached_to(host)) == 4
    output("client", "set", host, "--servers", "5")
    assert current_settings.client_servers(status.attached_to(host)) == 5
    (record,) = json.loads(output("status", "--json"))
    assert record["settings"]["servers"] == 5
    output("detach", host)
