# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Servers leave and join a rack that is under load, and no request is lost by it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from netclone_host.rack import build
from netclone_host.rack.counters import Counting, difference
from netclone_host.rack.plan import Plan, default_topology, make_plan
from netclone_host.rack.programs import Options
from netclone_host.wire import DEFAULT_PORT, HEADER_LEN, Header

from .asking import address_of, servers_of
from .conftest import random_rack_name
from .echo import echo_servers
from .probe import udp_socket

PACE_S = 0.0005
SETTLE_S = 0.3


def switch_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "from netclone_host.cli import main; main(prog_name='netclone-host')"
    return subprocess.run(
        [sys.executable, "-c", program, "switch", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def show(plan: Plan) -> dict[str, object]:
    done = switch_command("show", "--rack", plan.name, "--json")
    assert done.returncode == 0, done.stderr
    record: dict[str, object] = json.loads(done.stdout)
    return record


@dataclass
class Load:
    """What a client under way has asked, and how often each was answered."""

    asked: int = 0
    answers: Counter[int] = field(default_factory=Counter)


@contextmanager
def steady_load(plan: Plan) -> Iterator[Load]:
    """Blank requests to server 1's address, about one each PACE_S, until the end of the block."""
    load, stop = Load(), threading.Event()
    client = plan.clients[0]
    with udp_socket(client.netns, address_of(client, 4)) as sock:
        sock.settimeout(SETTLE_S)

        def send() -> None:
            while not stop.is_set():
                body = Header().encode() + load.asked.to_bytes(4, "big")
                load.asked += 1
                sock.sendto(body, (str(plan.servers[0].ip4), DEFAULT_PORT))
                time.sleep(PACE_S)

        def receive() -> None:
            while True:
                try:
                    data = sock.recv(2048)
                except TimeoutError:
                    if stop.is_set():
                        return
                    continue
                load.answers[int.from_bytes(data[HEADER_LEN : HEADER_LEN + 4], "big")] += 1

        threads = [threading.Thread(target=send), threading.Thread(target=receive)]
        for thread in threads:
            thread.start()
        try:
            yield load
        finally:
            stop.set()
            for thread in threads:
                thread.join()


@pytest.fixture(scope="module")
def rack_of_four() -> Iterator[Plan]:
    plan = make_plan(random_rack_name(), default_topology(4, 1, 1000))
    build.up(plan, Options())
    yield plan
    build.down(plan.name)


def test_a_server_leaves_and_comes_back_under_load(rack_of_four: Plan) -> None:
    plan = rack_of_four
    counting = Counting(plan)
    with echo_servers(servers_of(plan, 4)), steady_load(plan) as load:
        time.sleep(SETTLE_S)
        removed = switch_command("remove-server", "2", "--rack", plan.name)
        assert removed.returncode == 0, removed.stderr
        assert "3 servers, 6 groups; 1 clients told" in removed.stdout
        time.sleep(SETTLE_S)
        before = counting.snapshot()
        time.sleep(SETTLE_S)
        without = difference(counting.snapshot(), before)
        groups = show(plan)["groups"]
        added = switch_command("add-server", "2", "--rack", plan.name)
        assert added.returncode == 0, added.stderr
        time.sleep(SETTLE_S)
        before = counting.snapshot()
        time.sleep(SETTLE_S)
        again = difference(counting.snapshot(), before)

    assert set(load.answers) == set(range(load.asked)), "no request was lost"
    assert max(load.answers.values()) == 1, "and none answered twice"
    assert groups == {
        "1": [0, 1],
        "2": [1, 0],
        "3": [0, 3],
        "4": [3, 0],
        "5": [1, 3],
        "6": [3, 1],
    }, "groups are counted anew, without the server"
    assert not [name for name in without if name.startswith("s3.ingress.")], "it gets nothing"
    assert without["s1.ingress.request_admitted"] > 0
    assert again["s3.ingress.request_admitted"] > 0, "it takes part again"
    assert "sw.ingress.bad_group" not in {**without, **again}


def test_settings_of_a_running_switch(rack_of_four: Plan) -> None:
    plan = rack_of_four
    done = switch_command("set", "--racksched", "--server-timeout", "250", "--rack", plan.name)
    assert done.returncode == 0, done.stderr
    record = show(plan)
    assert record["racksched"] is True
    assert record["server_timeout_ms"] == 250
    assert record["capacity"] == 32
    done = switch_command("set", "--no-racksched", "--server-timeout", "0", "--rack", plan.name)
    assert done.returncode == 0, done.stderr
    assert (show(plan)["racksched"], show(plan)["server_timeout_ms"]) == (False, 0)


def test_a_silent_server_is_found_failed_and_comes_back_by_itself(rack_of_four: Plan) -> None:
    """Beyond the paper: with a server timeout the data plane finds out by itself."""
    plan = rack_of_four
    assert switch_command("set", "--server-timeout", "100", "--rack", plan.name).returncode == 0
    alive = servers_of(plan, 4)

    def failed() -> list[int]:
        servers = show(plan)["servers"]
        assert isinstance(servers, list)
        return [server["id"] for server in servers if server["failed"]]

    counting = Counting(plan)
    with echo_servers(alive[:3]), steady_load(plan) as load:
        time.sleep(2 * SETTLE_S)
        assert failed() == [3]
        before, asked = counting.snapshot(), load.asked
        time.sleep(2 * SETTLE_S)
        counted, asked = difference(counting.snapshot(), before), load.asked - asked
        lost_after = [n for n in range(load.asked - asked, load.asked - asked // 2)]
        probes = counted.get("sw.ingress.probed", 0)
        assert 1 <= probes <= 20, "now and then"
        admitted = counted.get("s4.ingress.request_admitted", 0)
        assert admitted <= probes + 1, "no request depends on it: what it gets are probes"
        with echo_servers(alive[3:]):
            deadline = time.monotonic() + 5
            while failed() and time.monotonic() < deadline:
                time.sleep(0.1)
            assert failed() == []
            time.sleep(SETTLE_S)
    assert [n for n in lost_after if n not in load.answers] == []


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["remove-server", "9"], "no server 9", "0, 1, 2, 3"),
        (["add-server", "1"], "already has a server 1", "remove-server 1"),
        (["add-server", "300"], "out of range", "0 to 255"),
        (["add-server", "9"], "no server with id 9", "0, 1, 2, 3"),
        (["add-server", "9", "--ip4", "10.0.1.9"], "needs a MAC address", "--mac"),
        *(
            (
                ["add-server", "9", "--switch-port", "c1", *addresses],
                f"client c1 has the same {what}",
                "addresses of its own",
            )
            for what, addresses in {
                "ip4": ["--ip4", "10.0.1.1", "--mac", "02:00:00:00:03:01"],
                "ip6": ["--ip6", "fd00:1:0::1", "--mac", "02:00:00:00:03:01"],
                "mac": ["--ip4", "10.0.1.99", "--mac", "02:00:00:00:02:00"],
            }.items()
        ),
        (["set"], "nothing to set", "--racksched"),
        (["set", "--server-timeout", "-1"], "out of range", "0 (off)"),
        (["set", "--server-timeout", "9"], "out of range", "10 to"),
    ],
)
def test_bad_changes_are_refused(
    rack_of_four: Plan, arguments: list[str], error: str, hint: str
) -> None:
    before = show(rack_of_four)
    done = switch_command(*arguments, "--rack", rack_of_four.name)
    assert done.returncode == 2
    assert error in done.stderr and hint in done.stderr
    assert "Traceback" not in done.stderr
    assert show(rack_of_four) == before


def test_two_servers_stay(rack_of_four: Plan) -> None:
    for sid in ("0", "1"):
        assert switch_command("remove-server", sid, "--rack", rack_of_four.name).returncode == 0
    done = switch_command("remove-server", "2", "--rack", rack_of_four.name)
    assert done.returncode == 2
    assert "only one is left" in done.stderr
    for sid in ("0", "1"):
        assert switch_command("add-server", sid, "--rack", rack_of_four.name).returncode == 0
    servers = show(rack_of_four)["servers"]
    assert isinstance(servers, list) and [server["id"] for server in servers] == [0, 1, 2, 3]


def test_memory_is_stated_and_is_what_the_kernel_counts(rack_of_four: Plan) -> None:
    done = switch_command("show", "--rack", rack_of_four.name, "--json", "--memory")
    memory = json.loads(done.stdout)["memory"]
    counted, stated = memory["this_switch_kernel_bytes"], memory["default_32_servers"]
    assert memory["this_switch_bytes"] == sum(counted.values())
    # Four servers, each behind a port of its own: twelve ordered pairs.
    pairs = counted.pop("devmaps of port pairs")
    assert pairs % 12 == 0 and 2 * 8 < pairs // 12 <= 704
    assert counted.keys() == stated.keys() - {"devmaps of port pairs"}
    # The kernel adds the map's own description, some hundred bytes.
    for table, n_bytes in counted.items():
        assert 0 <= n_bytes - stated[table] <= 1024, table
    assert stated["nc_filter"] == 2 * 2**17 * 8
    assert memory["largest_256_servers"]["nc_groups"] == (256 * 255 + 1) * 8


def test_show_prints_groups_addresses_states_debts_and_filter_tables(rack_of_four: Plan) -> None:
    said = switch_command("show", "--rack", rack_of_four.name).stdout
    for words in (
        "12 groups",
        "1: 0, 1         2: 1, 0",
        "12: 3, 2",
        "10.0.1.104",
        "fd00:1::104",
        "state",
        "owed",
        "filter table 1: ",
        "of 131072 slots",
    ):
        assert words in said, said
