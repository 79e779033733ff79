# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Namespaces, veths, a BPF file system and a journal of each test run's own, so that runs go
side by side and a leak of one test shows at its end."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from netclone_host.attach import journal, pins
from netclone_host.attach.attach import AttachRequest, attach
from netclone_host.attach.detach import detach
from netclone_host.attach.loaders.libbpf import OBJECT_DIR
from netclone_host.attach.roles import Role
from netclone_host.kernel import interfaces, netns, tcx, xdp
from netclone_host.topology import Topology, loads

from .commands import netclone_host
from .running_switch import PORTS, THIRD

OBJECTS = [OBJECT_DIR / f"{role}.bpf.o" for role in ("server", "client", "switch")]


def run(*words: str) -> str:
    """A command in the namespace of this thread; its output."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def lose(link_pin: Path) -> None:
    """Take a link's pin away, and wait until the kernel, in the background, let go of the link."""
    link_pin.unlink()
    ifindex = socket.if_nametoindex(link_pin.name.removeprefix(pins.LINK))
    deadline = time.monotonic() + 10
    while xdp.query(ifindex).programs():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture(scope="session", autouse=True)
def _needs() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: BPF")
    missing = [path for path in OBJECTS if not path.exists()]
    if missing:
        pytest.skip(f"needs the compiled objects (make build): {missing[0].name}")


@pytest.fixture(scope="session")
def own_bpffs(_needs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    mount_point = tmp_path_factory.mktemp("bpffs")
    run("mount", "-t", "bpf", "bpf", str(mount_point))
    yield mount_point
    run("umount", str(mount_point))


@pytest.fixture
def clean_slate(own_bpffs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pins and journals go to places of this test, and none may be left at its end."""
    monkeypatch.setenv("NETCLONE_BPFFS", str(own_bpffs))
    monkeypatch.setenv("NETCLONE_RUN_DIR", str(tmp_path / "run"))
    yield
    assert not pins.root().exists(), list(pins.root().rglob("*"))
    assert journal.attachments() == []


@dataclass(frozen=True)
class Namespace:
    """A network namespace that the test's thread is in."""

    name: str

    def veth(self, name: str, peer: str, *, gro: bool = True) -> None:
        """A veth pair, both ends here and up; the peer takes redirected frames with GRO."""
        run("ip", "link", "add", name, "type", "veth", "peer", "name", peer)
        for end in (name, peer):
            run("ip", "link", "set", end, "up")
        if gro:
            run("ethtool", "-K", peer, "gro", "on")


@pytest.fixture
def namespace(clean_slate: None) -> Iterator[Namespace]:
    name = f"nct-{os.getpid()}-{secrets.token_hex(3)}"
    run("ip", "netns", "add", name)
    try:
        with netns.entered(name):
            run("ip", "link", "set", "lo", "up")
            yield Namespace(name)
    finally:
        run("ip", "netns", "del", name)


@pytest.fixture
def host(namespace: Namespace) -> str:
    """The interface of a host: a veth whose other end is `wire`."""
    namespace.veth("eth0", "wire")
    return "eth0"


@pytest.fixture
def switch_ports(namespace: Namespace) -> list[str]:
    """Three ports of a switch: p0 and p1 for servers, p2 for clients."""
    ports = ["p0", "p1", "p2"]
    for port in ports:
        namespace.veth(port, f"{port}-wire")
    return ports


TOPOLOGY = """
[[server]]
id = 0
ip4 = "10.0.1.101"
ip6 = "fd00:0:0:1::101"
mac = "02:00:00:00:01:65"
port = "p0"

[[server]]
id = 1
ip4 = "10.0.1.102"
ip6 = "fd00:0:0:1::102"
mac = "02:00:00:00:01:66"
port = "p1"
"""


@pytest.fixture(scope="module")
def own_namespace() -> Iterator[Namespace]:
    """A namespace without a name, with a switch's ports, for BPF_PROG_TEST_RUN."""
    with netns.throw_away():
        namespace = Namespace("throw-away")
        for port in ("p0", "p1", "p2"):
            namespace.veth(port, f"{port}-wire", gro=False)
        yield namespace


@pytest.fixture
def rack(namespace: Namespace) -> Iterator[Topology]:
    """The topology of a running switch of three servers."""
    for port in PORTS:
        namespace.veth(port, f"{port}-wire")
    topology = loads(TOPOLOGY + THIRD)
    attach(AttachRequest(PORTS, Role.SWITCH, topology=topology))
    try:
        yield topology
    finally:
        detach("p0")


@pytest.fixture(params=["tcx", "clsact"])
def egress(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By what the programs are held on egress; clsact is what a kernel without tcx has."""
    kind: str = request.param
    if kind == "clsact":
        without_tcx(monkeypatch)
    return kind


def without_tcx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcx, "is_available", lambda _ifindex: False)


@pytest.fixture
def tc_state() -> Callable[[str], str]:
    """Everything that tc shows of an interface, and its tcx programs."""

    def show(interface: str) -> str:
        in_row = tcx.programs(socket.if_nametoindex(interface))
        return f"tcx {in_row}\n" + "".join(
            run("tc", *words, "dev", interface, *side)
            for words, side in (
                (("qdisc", "show"), ()),
                (("filter", "show"), ("ingress",)),
                (("filter", "show"), ("egress",)),
            )
        )

    return show


@pytest.fixture
def topology_file(tmp_path: Path) -> Path:
    path = tmp_path / "rack.toml"
    path.write_text(TOPOLOGY)
    return path


@pytest.fixture
def refused(namespace: Namespace, tc_state: Callable[[str], str]) -> Iterator[Callable[..., None]]:
    """Runs a command that must be refused, with these words in its sentence and hint."""

    def check(*words: str, error: str, hint: str) -> None:
        before = snapshot()
        result = netclone_host(*words)
        lines = result.output.splitlines()
        assert result.exit_code == 2, result.output
        assert len(lines) == 2, result.output
        assert lines[0].startswith("error: ") and error in lines[0], lines[0]
        assert lines[1].startswith("hint: ") and hint in lines[1], lines[1]
        assert snapshot() == before

    def snapshot() -> list[object]:
        """Programs, qdiscs and filters of every interface, pins and journals."""
        found: list[object] = [sorted(pins.root().rglob("*")), journal.attachments()]
        for name, index in interfaces.indices().items():
            found += [name, xdp.query(index).programs(), tc_state(name)]
        return found

    yield check


_NOT_OURS = """
struct xdp_md;
struct __sk_buff;
#define SECTION(name) __attribute__((section(name), used))
SECTION("xdp") int foreign_xdp(struct xdp_md *ctx) { (void)ctx; return 2; }
SECTION("tc") int foreign_tc(struct __sk_buff *ctx) { (void)ctx; return -1; }
SECTION("classifier") int foreign_drop(struct __sk_buff *ctx) { (void)ctx; return 2; }
SECTION("license") char the_license[] = "GPL";
"""


@pytest.fixture(scope="session")
def not_ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An object with an XDP and a tc program of somebody else's."""
    source = tmp_path_factory.mktemp("foreign") / "foreign.c"
    source.write_text(_NOT_OURS)
    target = source.with_suffix(".o")
    run("clang", "-target", "bpf", "-O2", "-g", "-c", str(source), "-o", str(target))
    return target


ForeignFilter = Callable[[str, str, int], None]


@pytest.fixture
def foreign_filter(not_ours: Path) -> ForeignFilter:
    """Adds a filter of somebody else's: interface, side, priority."""

    def add(interface: str, side: str, priority: int) -> None:
        where = ("dev", interface, side, "prio", str(priority))
        run("tc", "filter", "add", *where, "bpf", "da", "obj", str(not_ours), "sec", "tc")

    return add
