# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Real Redis and Memcached behind the workers: every value is the one that was loaded."""

from __future__ import annotations

import ctypes
import math
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import redis
from click.testing import CliRunner
from pymemcache.client.base import Client as Memcache

from loadgen.cli import main
from loadgen.native.client_structs import MAX_THETA
from loadgen.native.traffic_library import traffic_library
from loadgen.rack.stores import objects
from loadgen.rack.stores.loading import load_objects
from loadgen.rack.stores.process import StoreKind, StoreProcess, require_memory
from loadgen.rack.stores.server import StoreServer, make_mix
from loadgen.traffic.client_plan import ClientPlan
from loadgen.traffic.client_summary import ClientSummary
from loadgen.traffic.clients import run_clients
from loadgen.traffic.endpoints import Endpoint
from loadgen.traffic.virtual_servers import VirtualServer
from loadgen.workload.schemes import find_scheme
from netclone_host.errors import UserError

Loopback = Callable[[int], list[Endpoint]]
OBJECTS = 20_000
KINDS = [
    pytest.param(
        kind,
        marks=pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is missing"),
        id=program,
    )
    for kind, program in ((StoreKind.REDIS, "redis-server"), (StoreKind.MEMCACHED, "memcached"))
]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> Iterator[StoreProcess]:
    """A store with `OBJECTS` objects."""
    with StoreProcess(request.param, OBJECTS) as running:
        done: list[int] = []
        load_objects(running, OBJECTS, done.append)
        assert done[-1] == OBJECTS
        yield running


HOLDER = """
import sys, time
from loadgen.rack.stores.process import StoreKind, StoreProcess
with StoreProcess(StoreKind(int(sys.argv[1])), 1000) as store:
    print(store._process.pid, store.socket_path.parent, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_ends_with_a_process_that_is_killed(kind: StoreKind) -> None:
    program = [sys.executable, "-c", HOLDER, str(int(kind))]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        pid, directory = holder.stdout.readline().split()
        holder.kill()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/exe").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    shutil.rmtree(directory)


def spoil(store: StoreProcess, numbers: range) -> None:
    """Overwrites these objects with something that was never loaded."""
    path = str(store.socket_path)
    bad = {objects.keys(number, 1).tobytes(): b"x" * 64 for number in numbers}
    if store.kind is StoreKind.REDIS:
        redis.Redis(unix_socket_path=path).mset(bad)
    else:
        Memcache(f"unix:{path}").set_many(bad, noreply=False)


def read(store: StoreProcess, key: bytes) -> bytes:
    path = str(store.socket_path)
    if store.kind is StoreKind.REDIS:
        return bytes(redis.Redis(unix_socket_path=path).get(key))  # type: ignore[arg-type]
    return bytes(Memcache(f"unix:{path}").get(key))


def run(store: StoreProcess, at: Endpoint, scan: float, write: float = 0.0) -> ClientSummary:
    plan = ClientPlan(
        find_scheme("baseline"), rate_rps=400, duration_s=1.0, quiet_s=1.0,
        mix=make_mix(OBJECTS, 0.99, scan, write, 100),
    )  # fmt: skip
    with StoreServer(VirtualServer(at, 0, workers=8), store, OBJECTS):
        return run_clients(plan, [Endpoint("127.0.0.1", 0)], [at])


def test_loaded_values_are_those_that_the_workers_expect(store: StoreProcess) -> None:
    for number in (0, 1, 9_999, OBJECTS - 1):
        key = objects.keys(number, 1).tobytes()
        assert len(key) == 16
        assert read(store, key) == objects.values(number, 1).tobytes()


def test_reads_and_writes(store: StoreProcess, loopback: Loopback) -> None:
    (at,) = loopback(1)
    summary = run(store, at, scan=0.1, write=0.05)
    assert summary.answered == summary.sent > 200
    assert summary.wrong_values == summary.store_errors == 0


def test_a_wrong_value_is_found(store: StoreProcess, loopback: Loopback) -> None:
    spoil(store, range(0, OBJECTS, 20))
    (at,) = loopback(1)
    summary = run(store, at, scan=0.5)
    assert summary.answered == summary.sent
    # Each scan of 100 meets one; every 20th GET is one.
    assert summary.wrong_values > 0.3 * summary.sent


def test_a_dead_store_is_an_error_not_a_hang(store: StoreProcess, loopback: Loopback) -> None:
    (at,) = loopback(1)
    server = StoreServer(VirtualServer(at, 0, workers=2), store, OBJECTS)
    plan = ClientPlan(
        find_scheme("baseline"), rate_rps=200, duration_s=0.5, quiet_s=1.0,
        mix=make_mix(OBJECTS, 0.99, 0, 0, 1),
    )  # fmt: skip
    with server:
        store.stop()
        summary = run_clients(plan, [Endpoint("127.0.0.1", 0)], [at])
    assert summary.answered == summary.store_errors == summary.sent


@pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is missing")
def test_a_store_that_forgets_is_found_when_it_is_loaded() -> None:
    with (
        StoreProcess(StoreKind.MEMCACHED, 0) as small,
        pytest.raises(UserError, match=r"holds [\d,]+ of the 600,000 objects"),
    ):
        load_objects(small, 600_000, lambda _: None)


def test_objects_as_in_c() -> None:
    lib = traffic_library()
    key, value = ctypes.create_string_buffer(16), ctypes.create_string_buffer(64)
    for number in (0, 7, 123_456_789):
        lib.lg_object_fill(ctypes.c_uint64(number), key, value)
        assert objects.keys(number, 1).tobytes() == key.raw
        assert objects.values(number, 1).tobytes() == value.raw


@pytest.mark.parametrize("theta", [0.0, 0.5, 0.99, 1.0, 1.3, 3.0, MAX_THETA])
def test_keys_follow_zipf(theta: float) -> None:
    n, samples = 1000, 200_000
    mix = make_mix(n, theta, 0, 0, 1)
    ranks = np.empty(samples, dtype=np.uint64)
    traffic_library().lg_mix_ranks(
        ctypes.byref(mix), ctypes.c_uint64(5), ranks.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_uint64(samples),
    )  # fmt: skip
    weights = np.arange(1, n + 1, dtype=float) ** -theta
    expected = samples * weights / weights.sum()
    counts = np.bincount(ranks.astype(int), minlength=n)
    # Rare ranks together: the statistic is chi-squared where every cell has a few.
    last = max(1, int((expected >= 5).sum()))
    expected = np.append(expected[:last], expected[last:].sum() or 1.0)
    counts = np.append(counts[:last], counts[last:].sum())
    chi2 = float(((counts - expected) ** 2 / expected).sum())
    assert chi2 < last + 4 * np.sqrt(2 * last)


def test_errors() -> None:
    with pytest.raises(UserError, match="no mix"):
        make_mix(10, 0.99, 0.6, 0.5, 1)
    with pytest.raises(UserError, match="no mix"):
        make_mix(10, 0.99, 0.1, 0, 100)
    for theta in (-0.1, math.nan, math.inf, 1e300):
        with pytest.raises(UserError, match="Zipf"):
            make_mix(10, theta, 0, 0, 1)


def test_stores_that_cannot_fit_are_refused_before_they_start() -> None:
    require_memory(1000, 2)
    with pytest.raises(UserError, match="are free") as caught:
        require_memory(1 << 40, 2)
    fitting = int(caught.value.hint.split()[-1])
    require_memory(int(fitting * 0.9), 2)


@pytest.mark.parametrize(
    "words",
    [
        ("--app", "redis", "--zipf", "nan"),
        ("--app", "redis", "--zipf", "1e300"),
        ("--app", "redis", "--objects", "99999999999999999999"),
        ("--app", "memcached", "--mix", "nan/1"),
        ("--rack", "a b/../c"),
    ],
)
def test_bad_values_are_refused_before_a_rack_is_built(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["sweep", *words])
    assert result.exit_code == 2, result.output
    assert len(result.output.splitlines()) == 2, result.output


def test_nothing_is_left_behind(store: StoreProcess) -> None:
    path = store.socket_path
    store.stop()
    assert not path.parent.exists()
    with pytest.raises(OSError), socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(path))
