# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attach and detach on real interfaces: what is there afterwards, and what is left."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from netclone_host import topology
from netclone_host.attach import encoding, status, tables
from netclone_host.attach.attach import AttachRequest, Mode, attach
from netclone_host.attach.detach import detach, release
from netclone_host.attach.roles import Role
from netclone_host.attach.table_access import pinned_config, pinned_map, pinned_table
from netclone_host.attach.tables import MapName
from netclone_host.counters import Hook
from netclone_host.errors import ForeignProgramError, UserError
from netclone_host.kernel import interfaces, maps, objects, xdp
from netclone_host.kernel.maps import DevmapValue
from netclone_host.kernel.objects import LinkType

from .commands import programs_on
from .conftest import TOPOLOGY, ForeignFilter, Namespace, run, without_tcx

SWITCH_PORTS = ("p0", "p1", "p2")
_TEST_TYPE = 0x88B5  # EtherType for local experiments


def server(ifname: str = "eth0", **more: object) -> AttachRequest:
    return AttachRequest((ifname,), Role.SERVER, server_id=3, **more)  # type: ignore[arg-type]


def switch(**more: object) -> AttachRequest:
    rack = topology.loads(TOPOLOGY)
    return AttachRequest(SWITCH_PORTS, Role.SWITCH, topology=rack, **more)  # type: ignore[arg-type]


def mode_of(ifname: str) -> list[str]:
    return [mode for mode, _ in xdp.query(socket.if_nametoindex(ifname)).programs()]


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.GENERIC])
def test_a_host_is_attached_and_detached(
    egress: str, host: str, mode: Mode, tc_state: Callable[[str], str]
) -> None:
    before = tc_state(host)
    result = attach(server(host, mode=mode))
    wanted = "generic" if mode is Mode.GENERIC else "native"
    assert result.mode == wanted and mode_of(host) == [wanted]
    assert ("nc_server_out direct-action" in tc_state(host)) == (egress == "clsact")
    assert len(programs_on(host)) == 2
    assert [entry.ifnames for entry in status.attachments()] == [[host]]
    assert status.describe(status.attachments()[0])["health"] == "attached"
    detach(host)
    assert mode_of(host) == []
    assert tc_state(host) == before


def test_a_released_link_is_off_at_once(host: str) -> None:
    for _ in range(20):
        attachment = attach(server(host)).attachment
        port = attachment.ports[0]
        release(attachment.link_pin(port), LinkType.XDP, port.xdp_program)
        assert mode_of(host) == []
        detach(host)


def test_the_server_is_told_what_was_asked(host: str) -> None:
    attach(server(host, workers=15, ports=(1000, 1001), request_timeout_ns=2_000_000_000))
    config = pinned_config(status.attached_to(host), tables.ServerConfig)
    assert (config.sid, config.workers, config.state_source) == (3, 15, tables.StateSource.INFLIGHT)
    assert list(config.ports.port)[: config.ports.count] == [1000, 1001]
    assert (config.slice_shift, config.slices) == encoding.timeout_slices(2_000_000_000)
    detach(host)


def test_the_client_is_told_the_number_of_groups(host: str) -> None:
    attach(AttachRequest((host,), Role.CLIENT, servers=6))
    config = pinned_config(status.attached_to(host), tables.ClientConfig)
    assert (config.n_groups, config.n_filter_tables) == (30, 2)
    detach(host)


def test_a_switch_has_every_table_filled(switch_ports: list[str]) -> None:
    result = attach(switch())
    assert result.mode == "native"
    assert all(mode_of(port) == ["native"] for port in switch_ports)
    attachment = status.attached_to("p1")
    index = interfaces.indices()
    with pinned_table(attachment, tables.Server) as servers:
        second = servers[1]
    assert second.flags == tables.ServerFlag.VALID and second.ifindex == index["p1"]
    assert bytes(second.mac) == bytes.fromhex("020000000166")
    assert bytes(second.ip4) == socket.inet_aton("10.0.1.102")
    assert bytes(second.ip6) == socket.inet_pton(socket.AF_INET6, "fd00:0:0:1::102")
    with pinned_map(attachment, MapName.GROUPS) as groups:
        assert groups.lookup(1) == bytes(tables.Group(0, 1))
        assert groups.lookup(2) == bytes(tables.Group(1, 0))
    with pinned_map(attachment, MapName.FDB) as fdb:
        mac = bytes.fromhex("020000000166")
        entry = fdb.number(encoding.fdb_slot(mac))
        assert entry == encoding.fdb_entry(mac, index["p1"])
    with pinned_map(attachment, MapName.PORTS) as ports:
        known = {key for key in range(ports.max_entries) if ports.lookup(key)}
        assert known == {index[port] for port in switch_ports}
    detach("p2")
    assert all(mode_of(port) == [] for port in switch_ports)


def test_the_clone_leaves_by_the_second_servers_port(switch_ports: list[str]) -> None:
    attach(switch())
    attachment = status.attached_to("p0")
    index = interfaces.indices()
    with pinned_map(attachment, MapName.CLONE_PORTS) as outer:
        inner_id = outer.number(2)
    inner = maps.map_by_id(inner_id)
    try:
        entries = maps.devmap_values(inner)
    finally:
        os.close(inner.fd)
    assert [entry.ifindex for entry in entries] == [index["p1"], index["p0"]]
    # One program at both, and wherever else a frame leaves by a server's port.
    assert entries[0].prog_fd == entries[1].prog_fd
    program = objects.program_by_id(entries[1].prog_fd)
    assert program is not None and program.name == "nc_switch_clone"
    with pinned_map(attachment, MapName.PORTS) as ports:
        leaving = {
            name: DevmapValue.from_buffer_copy(ports.lookup(index[name]) or b"").prog_fd
            for name in switch_ports
        }
    assert leaving == {"p0": program.id, "p1": program.id, "p2": 0}
    detach("p0")


def test_each_attach_starts_its_sequence_elsewhere(switch_ports: list[str]) -> None:
    starts = []
    for _ in range(3):
        attach(switch())
        with pinned_map(status.attached_to("p0"), MapName.SEQUENCE) as sequence:
            starts.append(sequence.lookup(0))
        detach("p0")
    assert len(set(starts)) == 3


def test_filter_tables_are_as_large_as_the_topology_says(switch_ports: list[str]) -> None:
    text = "[switch]\nfilter_tables = 4\nfilter_slots = 1024\n" + TOPOLOGY
    attach(AttachRequest(SWITCH_PORTS, Role.SWITCH, topology=topology.loads(text)))
    attachment = status.attached_to("p0")
    with pinned_map(attachment, MapName.FILTER) as filters:
        assert filters.max_entries == 4096
        assert filters.lookup(4095) == bytes(8)
    config = pinned_config(attachment, tables.SwitchConfig)
    assert (config.filter_mask, config.n_filter_tables, config.n_groups) == (1023, 4, 2)
    detach("p0")


def test_what_was_there_before_stays(
    egress: str, host: str, foreign_filter: ForeignFilter, tc_state: Callable[[str], str]
) -> None:
    run("tc", "qdisc", "add", "dev", host, "clsact")
    foreign_filter(host, "egress", 1)
    before = tc_state(host)
    attach(server(host))
    assert tc_state(host) != before
    detach(host)
    assert tc_state(host) == before


def test_a_filter_that_came_later_keeps_its_clsact(
    host: str,
    foreign_filter: ForeignFilter,
    tc_state: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_tcx(monkeypatch)
    attach(server(host))
    foreign_filter(host, "ingress", 7)
    detach(host)
    after = tc_state(host)
    assert "clsact" in after and "pref 7 bpf" in after and "nc_server_out" not in after


def test_our_filter_comes_before_those_that_are_there(
    host: str, foreign_filter: ForeignFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_tcx(monkeypatch)
    run("tc", "qdisc", "add", "dev", host, "clsact")
    foreign_filter(host, "egress", 9)
    attachment = attach(server(host)).attachment
    assert attachment.ports[0].tc_priority == 8
    detach(host)


def test_a_second_attach_is_refused_and_force_replaces(host: str) -> None:
    first = attach(server(host)).attachment
    with pytest.raises(UserError, match="attached to eth0 already, as a server"):
        attach(AttachRequest((host,), Role.CLIENT, servers=2))
    assert [entry.ports for entry in status.attachments()] == [first.ports]
    attach(AttachRequest((host,), Role.CLIENT, servers=2, force=True))
    assert [entry.role for entry in status.attachments()] == ["client"]
    detach(host)


def test_force_on_one_port_of_a_switch_says_that_all_are_off(switch_ports: list[str]) -> None:
    rack = topology.loads(TOPOLOGY)
    attach(AttachRequest(tuple(switch_ports), Role.SWITCH, topology=rack))
    result = attach(AttachRequest(("p2",), Role.SERVER, server_id=5, force=True))
    assert result.warnings == ["the switch that was here is off p0, p1 too"]
    assert mode_of("p0") == []
    again = attach(AttachRequest(tuple(switch_ports), Role.SWITCH, topology=rack, force=True))
    assert again.warnings == []
    assert len(status.attachments()) == 1
    detach("p1")


@pytest.fixture
def foreign(host: str, not_ours: Path) -> tuple[str, int]:
    """An XDP program of somebody else's, in generic mode."""
    run("ip", "link", "set", "dev", host, "xdpgeneric", "obj", str(not_ours), "sec", "xdp")
    return host, xdp.query(socket.if_nametoindex(host)).generic_id


def test_a_foreign_program_is_named_and_stays(foreign: tuple[str, int]) -> None:
    interface, program = foreign
    with pytest.raises(ForeignProgramError) as caught:
        attach(server(interface))
    assert caught.value.message == (
        f'eth0 has an XDP program already: id {program} "foreign_xdp", generic mode'
    )
    assert "--force" in caught.value.hint
    assert xdp.query(socket.if_nametoindex(interface)).generic_id == program
    assert status.attachments() == []


def test_force_replaces_a_foreign_program(foreign: tuple[str, int]) -> None:
    interface, _ = foreign
    attach(server(interface, force=True))
    assert mode_of(interface) == ["native"]
    detach(interface)
    assert mode_of(interface) == []


def test_a_failed_force_puts_the_foreign_program_back(
    foreign: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    interface, program = foreign

    def unavailable(*_: object) -> int:
        raise xdp.ModeUnavailable("the moon is full", "wait")

    monkeypatch.setattr(xdp, "attach", unavailable)
    with pytest.raises(UserError, match="the moon is full"):
        attach(server(interface, force=True))
    assert xdp.query(socket.if_nametoindex(interface)).generic_id == program
    assert status.attachments() == []


def test_force_replaces_a_program_that_a_link_holds(host: str, not_ours: Path) -> None:
    from netclone_host.attach.loaders.libbpf import load_object

    with load_object(not_ours) as loaded:
        link = objects.create_xdp_link(
            loaded.programs["foreign_xdp"], socket.if_nametoindex(host), xdp.XdpMode.NATIVE.flag
        )
        attach(server(host, force=True))
        assert objects.link_info(link).ifindex == 0
        os.close(link)
    detach(host)


def test_another_namespaces_remains_are_cleared(namespace: Namespace) -> None:
    """The inode and the interface are there again, the namespace is another one."""
    namespace.veth("eth0", "wire")
    attachment = attach(server()).attachment
    attachment.netns_cookie += 1
    attachment.save()
    attach(server())
    assert len(status.attachments()) == 1
    detach("eth0")


def test_an_interface_that_came_again(namespace: Namespace) -> None:
    namespace.veth("eth0", "wire")
    attach(server())
    run("ip", "link", "del", "eth0")
    assert status.describe(status.attachments()[0])["health"] == "stale"
    namespace.veth("eth0", "wire")
    attach(server())
    detach("eth0")


def test_an_interface_that_is_gone_can_be_detached(namespace: Namespace) -> None:
    namespace.veth("eth0", "wire")
    attach(server())
    run("ip", "link", "del", "eth0")
    detach("eth0")


def test_two_servers_attach_at_once(namespace: Namespace) -> None:
    from netclone_host.kernel import netns

    names = ["a0", "a1", "a2"]
    for name in names:
        namespace.veth(name, f"{name}-wire")
    failures: list[BaseException] = []

    def work(position: int) -> None:
        try:
            with netns.entered(namespace.name):
                attach(AttachRequest((names[position],), Role.SERVER, server_id=position))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(position,)) for position in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(entry.ifnames[0] for entry in status.attachments()) == names
    for name in names:
        detach(name)


def test_bcc_loads_the_same_text(switch_ports: list[str]) -> None:
    """The other loader: the same tables filled, the same programs on every port."""
    from netclone_host.attach import loaders
    from netclone_host.kernel import kernel_headers

    if not loaders.has_bcc():
        pytest.skip("needs BCC (python3-bpfcc)")
    if not kernel_headers.running_kernel_has_headers() and kernel_headers.installed() is None:
        pytest.skip("needs kernel headers (linux-headers-*)")
    result = attach(switch(loader="bcc"))
    assert (result.attachment.loader, result.mode) == ("bcc", "native")
    with pinned_map(result.attachment, MapName.GROUPS) as groups:
        assert groups.lookup(2) == bytes(tables.Group(1, 0))
    assert list(status.read_counters(result.attachment)) == [Hook.INGRESS, Hook.CLONE]
    detach("p0")
    attach(AttachRequest(("p2",), Role.SERVER, server_id=3, loader="bcc"))
    assert status.read_in_flight(status.attached_to("p2")) == 0
    detach("p2")


@pytest.mark.parametrize("role", [Role.SERVER, Role.CLIENT])
def test_a_filter_behind_ours_still_sees_every_packet(
    egress: str, host: str, role: Role, not_ours: Path
) -> None:
    """Ours ends no classification: somebody else's filter drops what it dropped before."""
    run("tc", "qdisc", "add", "dev", host, "clsact")
    attach(AttachRequest((host,), role, server_id=0, servers=2))
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_TEST_TYPE)) as wire,
    ):
        sender.bind((host, 0))
        wire.bind(("wire", _TEST_TYPE))
        wire.settimeout(10)
        ordinary = bytes(12) + _TEST_TYPE.to_bytes(2, "big") + bytes(60)
        sender.send(ordinary)
        assert wire.recv(100) == ordinary
        where = ("dev", host, "egress", "prio", "30000")
        run("tc", "filter", "add", *where, "bpf", "da", "obj", str(not_ours), "sec", "classifier")
        with pytest.raises(OSError, match="No buffer space"):  # what a drop looks like here
            sender.send(ordinary)
        run("tc", "filter", "del", *where)
        marked = ordinary[:-1] + b"\x01"
        sender.send(marked)
        assert wire.recv(100) == marked
    detach(host)
