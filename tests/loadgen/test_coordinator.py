# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The LAEDGE coordinator over loopback: when it clones, forwards and queues."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loadgen.rack.stores.server import make_mix
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.clients import run_clients
from loadgen.traffic.coordinator import Coordinator, CoordinatorStats
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.virtual_servers import VirtualServer, VirtualServers
from loadgen.workload.arrivals import parse_arrivals
from loadgen.workload.schemes import find_scheme
from loadgen.workload.services import parse_workload
from netclone_host.errors import UserError

Loopback = Callable[[int], list[Endpoint]]
CLIENT = Endpoint("127.0.0.1", 0)


def stats_of(coordinator: Coordinator) -> CoordinatorStats:
    assert coordinator.stats is not None
    return coordinator.stats


def test_idle_servers_get_two_copies_and_the_client_one_answer(loopback: Loopback) -> None:
    at, *servers = loopback(4)
    nodes = [VirtualServer(e, i) for i, e in enumerate(servers)]
    plan = ClientPlan(find_scheme("laedge"), rate_rps=1000, duration_s=0.5)
    with (
        VirtualServers(nodes, parse_workload("exp:1ms")) as running,
        Coordinator(at, servers) as coordinator,
    ):
        summary = run_clients(plan, [CLIENT], [coordinator.endpoint])
        # The coordinator gets the redundant responses too: let the last one come.
        run_clients(ClientPlan(find_scheme("laedge"), rate_rps=10, duration_s=0.3), [CLIENT], [at])
    stats = stats_of(coordinator)
    assert summary.answered == summary.sent > 300
    assert summary.redundant == summary.stale == 0
    # Where the machine stood still for a service time, fewer than two were idle.
    assert stats.cloned + stats.forwarded == stats.requests
    assert stats.cloned > 0.5 * stats.requests
    assert stats.first_responses == stats.requests
    assert stats.redundant_responses == pytest.approx(stats.cloned, abs=3)
    assert sum(s.received for s in running.stats) == stats.requests + stats.cloned


def test_queues_when_no_slot_is_free_and_serves_in_order(loopback: Loopback) -> None:
    at, *servers = loopback(3)
    nodes = [VirtualServer(e, i, workers=1) for i, e in enumerate(servers)]
    # 20 requests at once on two servers of one slot: the first is cloned (no slot is left),
    # the others are forwarded as slots become free.
    plan = ClientPlan(
        find_scheme("laedge"), rate_rps=400, duration_s=0.5, arrivals=parse_arrivals("bursty:20")
    )
    with (
        VirtualServers(nodes, parse_workload("const:2ms")) as running,
        Coordinator(at, servers, slots=1) as coordinator,
    ):
        summary = run_clients(plan, [CLIENT], [at])
    stats = stats_of(coordinator)
    assert summary.answered == summary.sent > 0
    assert stats.queued > 0
    assert stats.forwarded > stats.cloned > 0
    assert stats.cloned + stats.forwarded == stats.requests
    assert [s.max_queue for s in running.stats] == [0, 0]


def test_a_dead_server_gives_its_slots_back(loopback: Loopback) -> None:
    at, alive, dead = loopback(3)
    plan = ClientPlan(find_scheme("laedge"), rate_rps=200, duration_s=1.0, quiet_s=0.5)
    with (
        VirtualServers([VirtualServer(alive, 0, workers=4)], parse_workload("const:1ms")),
        Coordinator(at, [alive, dead], slots=4, timeout_s=0.1) as coordinator,
    ):
        summary = run_clients(plan, [CLIENT], [at])
    stats = stats_of(coordinator)
    # Every request towards the dead server is a clone or waits for a timeout; most are answered.
    assert stats.timeouts > 4
    assert summary.answered > 0.8 * summary.sent
    assert stats.first_responses == summary.answered


def test_writes_go_to_the_primary_alone(loopback: Loopback) -> None:
    at, *servers = loopback(4)
    nodes = [VirtualServer(e, i) for i, e in enumerate(servers)]
    writes = make_mix(1000, 0.99, 0.0, 1.0, 1)
    with (
        VirtualServers(nodes, parse_workload("const:100us")) as running,
        Coordinator(at, servers) as coordinator,
    ):
        for scheme, targets in (("laedge", [at]), ("c-clone", servers), ("baseline", servers)):
            plan = ClientPlan(find_scheme(scheme), rate_rps=400, duration_s=0.3, mix=writes)
            summary = run_clients(plan, [CLIENT], targets)
            assert summary.answered == summary.copies_sent == summary.sent > 50
    assert running.stats[1].received == running.stats[2].received == 0
    assert stats_of(coordinator).cloned == 0


def test_wrong_slots() -> None:
    with pytest.raises(UserError, match="slots"):
        Coordinator(CLIENT, [CLIENT], slots=[1, 2])
    with pytest.raises(UserError, match="slots"):
        Coordinator(CLIENT, [CLIENT], slots=0)
