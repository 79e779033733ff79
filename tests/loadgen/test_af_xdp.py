# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The af_xdp back end over veth, beside the programs of both roles."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from loadgen.cli import main
from loadgen.traffic.af_xdp import XdpIo, XdpMode
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.clients import run_clients
from loadgen.traffic.io import SOCKET, IoOptions
from loadgen.traffic.probe import probe
from loadgen.traffic.run_record import emulated, make_record
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.schemes import find_scheme
from loadgen.workload.services import parse_workload
from netclone_host.attach import attach, detach, status
from netclone_host.attach.request import AttachRequest
from netclone_host.attach.roles import Role
from netclone_host.attach.tables import StateSource
from netclone_host.counters import Hook
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from tests.veth_pair import IFNAME, Pair, set_link, veth_pair

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and XDP need root")

AF_XDP = IoOptions("af_xdp", IFNAME)
WORKLOAD = parse_workload("const:100us")


def attach_server(pair: Pair, state_source: StateSource) -> None:
    with netns.entered(pair.server.netns):
        attach.attach(
            AttachRequest(
                (IFNAME,), Role.SERVER, server_id=1, workers=4, servers=2, state=state_source
            )
        )


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Client and server joined by a veth pair, both with their programs; by parameter: queues."""
    with veth_pair(getattr(request, "param", 1)) as made:
        with netns.entered(made.client.netns):
            attach.attach(AttachRequest((IFNAME,), Role.CLIENT, servers=2))
        attach_server(made, StateSource.APP)
        yield made
        for node in (made.client, made.server):
            with netns.entered(node.netns):
                detach.detach(IFNAME)


def servers(pair: Pair, io: IoOptions = SOCKET) -> VirtualServers:
    return VirtualServers([VirtualServer(pair.server.endpoint(), 1, workers=4)], WORKLOAD, io=io)


def plan(io: IoOptions, duration_s: float = 0.5) -> ClientPlan:
    return ClientPlan(
        find_scheme("netclone"), rate_rps=2000, duration_s=duration_s, quiet_s=0.3, io=io
    )


@pytest.mark.parametrize("server_io", [SOCKET, AF_XDP], ids=["socket", "af_xdp"])
@pytest.mark.parametrize("client_io", [SOCKET, AF_XDP], ids=["socket", "af_xdp"])
def test_every_combination_answers_everything(
    pair: Pair, client_io: IoOptions, server_io: IoOptions
) -> None:
    with servers(pair):
        probe(pair.client.endpoint(0), [pair.server.endpoint()])
    with servers(pair, server_io) as running:
        p = plan(client_io)
        summary = run_clients(p, [pair.client.endpoint(5555)], [pair.server.endpoint()])
    assert summary.answered == summary.sent > 500
    assert summary.stale == summary.rx_invalid == summary.rx_dropped == 0
    assert running.stats[0].received == summary.all_sent
    record = make_record(p, summary, emulated(WORKLOAD, "loadgen"))
    assert record.io == ("af_xdp copy" if client_io.is_xdp else "socket")
    # The role's program saw each response, and its verdict came first.
    with netns.entered(pair.client.netns):
        counted = status.read_counters(status.attached_to(IFNAME))
    assert counted[Hook.INGRESS]["response_delivered"] >= summary.answered


def test_server_stamps_its_id_itself(pair: Pair, tmp_path: object) -> None:
    with servers(pair):
        probe(pair.client.endpoint(0), [pair.server.endpoint()])
    read, write = os.pipe()
    with servers(pair, AF_XDP), os.fdopen(read, "rb") as trace:
        p = ClientPlan(
            find_scheme("netclone"), rate_rps=500, duration_s=0.2, quiet_s=0.3, io=AF_XDP,
            trace_fds=(write,),
        )  # fmt: skip
        summary = run_clients(p, [pair.client.endpoint(5555)], [pair.server.endpoint()])
        os.close(write)
        entries = trace.read()
    assert summary.answered > 50
    assert len(entries) == 40 * summary.answered
    assert {entries[at + 32] for at in range(0, len(entries), 40)} == {1}


def test_link_down_ends_the_run_with_what_there_is(pair: Pair) -> None:
    with servers(pair):
        probe(pair.client.endpoint(0), [pair.server.endpoint()])
        timer = threading.Timer(0.6, set_link, (pair.client,), {"up": False})
        timer.start()
        summary = run_clients(
            plan(AF_XDP, duration_s=30), [pair.client.endpoint(5555)], [pair.server.endpoint()]
        )
        timer.join()
    assert summary.partial
    assert summary.answered > 500
    assert "the link went down" in summary.notes
    # Rates are of the time that it ran, not of the 30 s that it was to run.
    assert summary.duration_s < 20
    assert summary.offered_rps == pytest.approx(2000, rel=0.2)
    assert not summary.kept_schedule


def test_starved_ring_ends_the_run_and_is_reported(pair: Pair) -> None:
    """A client that stands still while more packets come than it has frames for."""
    with servers(pair):
        probe(pair.client.endpoint(0), [pair.server.endpoint()])
    client = subprocess.Popen(
        [
            *(sys.executable, "-m", "loadgen.cli", "client", "--netns", str(pair.client.netns)),
            *("--from", "10.9.0.1:20000", "--server", "10.9.0.2", "--rate", "10", "--no-probe"),
            *("--duration", "30s", "--io", "af_xdp", "--interface", IFNAME, "--json", "-"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    response = bytearray(84)
    response[3] = 1  # TYPE
    response[11] = 1  # GRP
    with netns.entered(pair.server.netns), socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.bind((pair.server.ip, 1000))
        sock.settimeout(20)
        sock.recv(2048)  # the client is at work
        client.send_signal(signal.SIGSTOP)
        for _ in range(3000):
            sock.sendto(response, (pair.client.ip, 20000))
        client.send_signal(signal.SIGCONT)
    output, _ = client.communicate(timeout=20)
    assert client.returncode == 3
    (record,) = json.loads(output)
    assert record["partial"]
    assert "the receive ring starved" in record["note"]
    assert record["link_drops"] > 500


@pytest.mark.parametrize("pair", [2], indirect=True)
def test_two_queues(pair: Pair) -> None:
    with servers(pair):
        probe(pair.client.endpoint(0), [pair.server.endpoint()])
    both = IoOptions("af_xdp", IFNAME, queues=2)
    medians = []
    with servers(pair, both):
        for port in (5555, 5556, 5557):
            at = pair.client.endpoint(port)
            summary = run_clients(plan(both), [at], [pair.server.endpoint()])
            assert summary.answered == summary.sent > 500
            medians.append(summary.latency.quantile_ns(0.5))
    # The server sleeps until a packet comes to any of its queues, and not for a while; a machine
    # that stands still may look like it once.
    assert min(medians) < 5e6


def test_frames_need_an_address() -> None:
    words = ("client", "--server", "10.9.0.2", "--rate", "10", "--io", "af_xdp")
    result = CliRunner().invoke(main, [*words, "--interface", IFNAME])
    assert result.exit_code == 2
    assert result.output.startswith("error: af_xdp needs a source address")


def test_linux_gets_the_packets_again_afterwards(pair: Pair) -> None:
    with servers(pair):
        probe(pair.client.endpoint(0), [pair.server.endpoint()])
        run_clients(plan(AF_XDP), [pair.client.endpoint(5555)], [pair.server.endpoint()])
        probe(pair.client.endpoint(0), [pair.server.endpoint()])


def test_errors(pair: Pair) -> None:
    client = pair.client.endpoint(5555)
    io = XdpIo(client, IFNAME)
    try:
        with pytest.raises(UserError, match="queue 0 of eth0 belong"):
            XdpIo(client, IFNAME)
    finally:
        io.close()
    with pytest.raises(UserError, match="has no queues 0 to 59"):
        XdpIo(client, IFNAME, queues=60)
    with pytest.raises(UserError, match="no zero-copy"):
        XdpIo(client, IFNAME, mode=XdpMode.ZERO_COPY)
    with pytest.raises(UserError, match="no interface"):
        XdpIo(client, "nosuch0")
    with pytest.raises(UserError, match="needs an interface"):
        run_clients(plan(IoOptions("af_xdp")), [client], [pair.server.endpoint()])
    with pytest.raises(UserError, match="is not a neighbour"):
        run_clients(plan(AF_XDP), [client], [type(client)("10.9.0.77")])
    with netns.entered(pair.server.netns):
        detach.detach(IFNAME)
    with pytest.raises(UserError, match="not attached"):
        XdpIo(pair.server.endpoint(), IFNAME)
    attach_server(pair, StateSource.INFLIGHT)
    with pytest.raises(UserError, match="counts requests by itself"):
        XdpIo(pair.server.endpoint(), IFNAME)
