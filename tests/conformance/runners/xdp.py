# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The XDP and tc programs as a target: attached to real ports, fed through raw sockets."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from typing import Any

from netclone_host import counters
from netclone_host.attach import tables as abi
from netclone_host.attach.clone_ports import pair_devmap
from netclone_host.attach.loaders import loader_of
from netclone_host.attach.loaders.base import LoadedObject
from netclone_host.attach.roles import PROGRAMS, Role
from netclone_host.counters import Hook
from netclone_host.kernel import netns, tc, xdp
from netclone_host.kernel.maps import DevmapValue, Map
from netclone_host.kernel.testrun import TcAction, XdpAction, prog_test_run
from netclone_host.kernel.xdp import XdpMode
from netclone_host.model.packet import UDP, Untouched, parse, slot_of
from tests.conformance.playing import Seen
from tests.conformance.runners import tables as form
from tests.conformance.runners.cabling import LINUX, Cabling
from tests.conformance.runners.scan import Words, nonzero_words, zero
from tests.conformance.scenario import GENERATED, Scenario, Step, Tables

PORTS = 8
WIRE = 1
LONGEST_FRAME = 1514 + 8
"""Bytes: MTU 1500 and two tags. Longer frames would need a larger MTU than native XDP has."""
_DROPPED = ("filtered_slower_response", "dropped_server_busy", "dropped_already_answered")


class Xdp:
    """One role, one loader, one mode, on cables of its own; `close` takes them away."""

    def __init__(self, role: Role, loader: str, mode: XdpMode, filter_tables: int = 16) -> None:
        self.role = role
        self.cabling = Cabling(PORTS if role is Role.SWITCH else 1)
        self._links: list[int] = []
        try:
            highest = max(self.cabling.number)
            self._object = loader_of(loader).load(
                role,
                {
                    "nc_filter": filter_tables * form.DEFAULT_FILTER_SLOTS,
                    "nc_ports": max(abi.DEFAULT_PORT_ENTRIES, highest + 1),
                }
                if role is Role.SWITCH
                else {},
            )
            self._attach(mode)
        except BaseException:
            self.cabling.close()
            raise
        self._counted: dict[str, int] = {}
        kinds = {
            Role.SWITCH: _SwitchTables,
            Role.SERVER: _ServerTables,
            Role.CLIENT: _ClientTables,
        }
        self._tables = kinds[role](self._object, self.cabling)

    def close(self) -> None:
        for link in self._links:
            os.close(link)
        self._object.close()
        self.cabling.close()

    def _attach(self, mode: XdpMode) -> None:
        names = PROGRAMS[self.role]
        with netns.entered(self.cabling.node):
            for ifindex in self.cabling.ifindex.values():
                program = self._object.programs[names.xdp]
                self._links.append(xdp.attach(program, ifindex, mode))
                if names.tc:
                    tc.add_clsact(ifindex)
                    tc.add_filter(ifindex, self._object.programs[names.tc], names.tc, 1)
        if self.role is Role.SWITCH:
            ports, program = self._maps["nc_ports"], self._object.programs["nc_switch_clone"]
            for ifindex in self.cabling.ifindex.values():
                value = bytes(DevmapValue(ifindex, program))[: ports.value_size]
                with netns.entered(self.cabling.node):
                    ports.update(ifindex, value)

    @property
    def _maps(self) -> dict[str, Map]:
        return self._object.maps

    # ---- target ----

    def start(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._tables.write(scenario)
        self._counted = self._counts()
        self._began_s = time.monotonic()

    def feed(self, step: Step) -> Seen:
        time.sleep(max(0.0, self._began_s + step.at_ms / 1000 - time.monotonic()))
        leaves = self.role is not Role.SWITCH and step.port == LINUX
        if _linux_hides(step.frame):
            return self._judge(step.frame, leaves)
        if leaves:
            self.cabling.leave(1, step.frame, _partial_of(step, self.scenario))
        else:
            self.cabling.arrive(step.port, step.frame)
        counted = self._newly_counted()
        frames = self.cabling.collect(_frames_of(counted))
        return Seen(frames, counted)

    def tables(self) -> Tables:
        return self._tables.read(self.scenario)

    def _judge(self, frame: bytes, leaves: bool) -> Seen:
        """Verdict and bytes by BPF_PROG_TEST_RUN."""
        names = PROGRAMS[self.role]
        result = prog_test_run(self._object.programs[names.tc if leaves else names.xdp], frame)
        goes_on = (TcAction.OK, TcAction.UNSPEC) if leaves else (XdpAction.PASS,)
        passed = [(WIRE if leaves else LINUX, result.data_out)]
        return Seen(passed if result.retval in goes_on else [], self._newly_counted())

    def _newly_counted(self) -> dict[str, int]:
        """Each packet ends in one counter; that of a clone follows in the same poll."""
        deadline = time.monotonic() + 5
        while True:
            now = self._counts()
            new = {name: n - self._counted.get(name, 0) for name, n in now.items()}
            new = {name: n for name, n in new.items() if n}
            if _is_complete(new) or time.monotonic() > deadline:
                self._counted = now
                return new
            time.sleep(0.0002)

    def _counts(self) -> dict[str, int]:
        table, total = self._maps["nc_counters"], {}
        for hook in Hook:
            sets = [memoryview(value).cast("Q") for value in table.lookup_per_cpu(int(hook))]
            for position, name in enumerate(counters.names()):
                if n := sum(one[position] for one in sets):
                    total[f"{hook.label}.{name}"] = n
        return total


def _is_complete(new: dict[str, int]) -> bool:
    if not new:
        return False
    cloned = sum(new.get(f"ingress.{name}", 0) for name in ("cloned", "probed"))
    return cloned == sum(n for name, n in new.items() if name.startswith("clone."))


def _frames_of(new: dict[str, int]) -> int:
    """How many frames must come out, by what was counted."""
    gone = {f"ingress.{name}" for name in _DROPPED} | {"clone.clone_lost"}
    return sum(n for name, n in new.items() if name not in gone)


def _linux_hides(frame: bytes) -> bool:
    """A frame that ends inside its VLAN tag, or with it: where it arrives, Linux drops it
    before any packet socket sees it."""
    return frame[12:14] in (b"\x81\x00", b"\x88\xa8") and len(frame) < 20


def _partial_of(step: Step, scenario: Scenario) -> tuple[int, int] | None:
    if not step.offloaded:
        return None
    packet = parse(step.frame, scenario.config["ports"], abi.MAX_GROUPS, 256, blank_allowed=True)
    return packet.l4, 6 if packet.protocol == UDP else 16


class _SwitchTables:
    def __init__(self, loaded: LoadedObject, cabling: Cabling) -> None:
        self._maps, self.cabling = loaded.maps, cabling
        self._filter = Words(loaded.maps["nc_filter"])
        self._requests = Words(loaded.maps["nc_requests"])
        self._attempts = Words(loaded.maps["nc_attempts"])
        self._fdb = Words(loaded.maps["nc_fdb"])
        self._clone_program = loaded.programs["nc_switch_clone"]
        self._pairs: dict[int, tuple[int, int]] = {}
        self._port_of = cabling.ifindex.__getitem__
        self._number_of = cabling.number.__getitem__

    def write(self, scenario: Scenario) -> None:
        tables, maps = scenario.before, self._maps
        for name in ("nc_servers", "nc_state", "nc_health"):
            zero(maps[name])
        servers = {
            int(sid): form.address(entry, self._port_of) for sid, entry in tables["servers"].items()
        }
        groups = {int(grp): abi.Group(*pair) for grp, pair in tables["groups"].items()}
        maps["nc_groups"].update_many(groups)
        self._write_clone_ports(groups, servers)
        _update(maps["nc_servers"], servers)
        _update(maps["nc_state"], {int(sid): n for sid, n in tables["state"].items()})
        if scenario.name == GENERATED:
            for words in (self._filter, self._requests, self._attempts, self._fdb):
                words.clear()
        slots = form.filter_slots(scenario.config)
        self._filter.fill(
            form.filter_words(tables, slots), form.filter_words(scenario.after, slots)
        )
        self._requests.fill(_request_words(tables), _request_words(scenario.after))
        self._attempts.fill(dict(tables.get("attempts", [])), dict(_request_slots(scenario)))
        self._fdb.fill(
            form.fdb_words(tables, scenario.config, self._port_of),
            form.fdb_words(scenario.after, scenario.config, self._port_of),
        )
        maps["nc_sequence"].update(0, tables["sequence"])
        zero(maps["nc_port_roles"])
        zero(maps["nc_clone_tokens"])
        _update(maps["nc_port_roles"], form.port_roles(scenario.config, self._port_of))
        maps["nc_switch_cfg"].update(0, form.switch_config(scenario.config, tables))

    def _write_clone_ports(
        self, groups: dict[int, abi.Group], servers: dict[int, abi.Server]
    ) -> None:
        """A devmap for each pair of ports; where a server is gone, any port will do. An array
        of maps is not written in vain: each time waits for every running program."""
        pairs = {
            grp: (_port_in(servers, group.first), _port_in(servers, group.second))
            for grp, group in groups.items()
        }
        if pairs == self._pairs:
            return
        made = {pair: self._pair(*pair) for pair in set(pairs.values())}
        self._maps["nc_clone_ports"].update_many({g: made[pair].fd for g, pair in pairs.items()})
        for devmap in made.values():
            os.close(devmap.fd)
        self._pairs = pairs

    def _pair(self, first: int, second: int) -> Map:
        devmap = pair_devmap()
        any_port = self._port_of(1)
        with netns.entered(self.cabling.node):
            for position, ifindex in enumerate((first, second)):
                devmap.update(position, DevmapValue(ifindex or any_port, self._clone_program))
        return devmap

    def read(self, scenario: Scenario) -> Tables:
        maps, slots = self._maps, form.filter_slots(scenario.config)
        everywhere = scenario.name == GENERATED
        servers = _values(maps["nc_servers"], abi.Server)
        valid = {sid: server for sid, server in servers.items() if server.flags}
        groups = {int(grp): maps["nc_groups"].lookup(int(grp)) for grp in scenario.before["groups"]}
        health = _values(maps["nc_health"], abi.Health)
        state = _values(maps["nc_state"], ctypes.c_uint32)
        sequence = int.from_bytes(maps["nc_sequence"].lookup(0) or b"", "little")
        return {
            "groups": {str(grp): list(memoryview(g or b"").cast("H")) for grp, g in groups.items()},
            "servers": {
                str(sid): form.address_entry(server, self._number_of)
                for sid, server in valid.items()
            },
            "state": {str(sid): queue.value for sid, queue in state.items()},
            "sequence": sequence & 0xFFFFFFFF,
            "filter": [
                [i // slots, i % slots, hex(word)] for i, word in self._filter.nonzero(everywhere)
            ],
            "requests": [[i, hex(word)] for i, word in self._requests.nonzero(everywhere)],
            "attempts": [list(entry) for entry in self._attempts.nonzero(everywhere)],
            "fdb": dict(
                form.fdb_entry(word, self._number_of) for _, word in self._fdb.nonzero(everywhere)
            ),
            "owed": {str(sid): entry.owed for sid, entry in health.items() if entry.owed},
        }


class _ServerTables:
    def __init__(self, loaded: LoadedObject, cabling: Cabling) -> None:
        self._maps = loaded.maps

    def write(self, scenario: Scenario) -> None:
        zero(self._maps["nc_inflight"])
        zero(self._maps["nc_slices"])
        self._maps["nc_app_state"].update(0, scenario.before["app_queue_length"])
        self._maps["nc_reserve"].update(0, form.averages(scenario.before))
        self._config = form.server_config(scenario.config)
        self._maps["nc_server_cfg"].update(0, self._config)

    def read(self, scenario: Scenario) -> Tables:
        slices = abi.Slices.from_buffer_copy(self._maps["nc_slices"].lookup(0) or b"")
        queue = self._maps["nc_app_state"].lookup(0) or b""
        return {
            "in_flight": form.live_in_flight(slices, self._config, time.monotonic_ns()),
            "app_queue_length": int.from_bytes(queue, "little"),
            "averages": form.averages_entry(
                abi.Reserve.from_buffer_copy(self._maps["nc_reserve"].lookup(0) or b"")
            ),
        }


class _ClientTables:
    def __init__(self, loaded: LoadedObject, cabling: Cabling) -> None:
        self._maps = loaded.maps

    def write(self, scenario: Scenario) -> None:
        zero(self._maps["nc_answered"])
        self._maps["nc_client_cfg"].update(0, form.client_config(scenario.config))

    def read(self, scenario: Scenario) -> Tables:
        words = nonzero_words(self._maps["nc_answered"])
        return {"answered": [[i, hex(word >> form.ANSWERED_TIME_BITS)] for i, word in words]}


def _port_in(servers: dict[int, abi.Server], sid: int) -> int:
    return int(servers[sid].ifindex) if sid in servers else 0


def _request_words(tables: Tables) -> dict[int, int]:
    return {slot: int(word, 16) for slot, word in tables["requests"]}


def _request_slots(scenario: Scenario) -> Iterator[tuple[int, int]]:
    """(slot, 0) of each request that may be counted there."""
    for step in scenario.steps:
        try:
            packet = parse(step.frame, tuple(scenario.config["ports"]), abi.MAX_GROUPS, 256)
        except Untouched:
            continue
        if packet.client_id_valid:
            yield slot_of(packet.request_key, abi.REQUEST_SLOTS_LOG2), 0


def _update(table: Map, entries: dict[int, Any]) -> None:
    if entries:
        table.update_many(entries)


def _values(table: Map, kind: Any) -> dict[int, Any]:
    return {
        index: kind.from_buffer_copy(table.lookup(index) or b"")
        for index in range(table.max_entries)
    }
