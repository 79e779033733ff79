# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""simple_switch with the project's program: started, spoken to, and as a target of the
conformance corpus."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from netclone_host.control.entries import difference
from netclone_host.control.p4.bmv2 import Bmv2Switch
from netclone_host.control.p4.bmv2_cli import RuntimeCli, parse_counter, parse_register
from netclone_host.control.p4.plan import BMV2
from tests.conformance.playing import Seen
from tests.conformance.scenario import Scenario, Step, Tables
from tests.p4.nanomsg import PacketPort
from tests.p4.p4_text import P4
from tests.p4.scenario_plan import LINUX, REASONS, SLOTS_LOG2, hook, plan_of

# A frame that no rule knows: it comes back by LINUX when everything before it is done.
MARKER_PORT = 499
MARKER = bytes.fromhex("02000000ffff02000000fffe88b5") + b"marker"


def compile_program(target: Path, *options: str) -> Path:
    """p4/v1model/netclone.p4 -> JSON for simple_switch."""
    compiler = shutil.which("p4c-bm2-ss")
    assert compiler is not None
    subprocess.run(
        [compiler, *options, "-o", str(target), str(P4 / "v1model" / "netclone.p4")],
        check=True,
        capture_output=True,
        text=True,
    )
    return target


@contextlib.contextmanager
def running(program: Path, directory: Path, *options: str) -> Iterator[int]:
    """A simple_switch of the test's own; yields its Thrift port."""
    port = _free_port()
    log = directory / "simple_switch.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                "simple_switch",
                f"--thrift-port={port}",
                f"--notifications-addr=ipc://{directory}/notifications.ipc",
                f"--device-id={os.getpid() % 1000}",
                *options,
                str(program),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(port, process, log)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError(f"simple_switch does not listen on Thrift port {port}")


class Bmv2Target:
    """Plays scenarios of the role switch."""

    def __init__(self, cli: RuntimeCli, packets: PacketPort) -> None:
        self._cli, self._packets = cli, packets
        self._switch = Bmv2Switch(cli)

    def start(self, scenario: Scenario) -> None:
        self._before = scenario.before
        self._expected = scenario.after
        for register in ("state", "shadow_state", "sequence", "filter", "requests", "fdb"):
            self._cli.run([f"register_reset {register}"])
        plan = plan_of(scenario, BMV2)
        changes = difference(self._switch.read(plan), plan)
        self._switch.write(changes)
        self._cli.run(list(_register_writes(scenario.before)))
        self._counts = self._read_counters()

    def feed(self, step: Step) -> Seen:
        self._packets.send(step.port, step.frame)
        frames = self._collect(len(step.out))
        self._packets.send(MARKER_PORT, MARKER)
        while (frame := self._packets.receive(2000)) != (LINUX, MARKER):
            assert frame is not None, "the marker did not come back"
            frames.append(frame)
        counts = self._read_counters()
        seen = {name: counts[name] - self._counts[name] for name in counts}
        seen["not_netclone"] -= 1  # the marker
        self._counts = counts
        named = {hook(name): count for name, count in seen.items() if count}
        return Seen(frames, named)

    def _collect(self, expected: int) -> list[tuple[int, bytes]]:
        """As many frames as are expected, or those that come in time."""
        frames: list[tuple[int, bytes]] = []
        while len(frames) < expected and (frame := self._packets.receive(1000)) is not None:
            frames.append(frame)
        return frames

    def _read_counters(self) -> dict[str, int]:
        texts = self._cli.run([f"counter_read SwitchIngress.reasons {n}" for n in REASONS.values()])
        return dict(zip(REASONS, map(parse_counter, texts), strict=True))

    def tables(self) -> Tables:
        return {
            **self._before,
            "fdb": self._read_fdb(),
            "state": self._read_states(),
            "sequence": self._read("sequence", 0),
            "filter": [
                [idx, slot, hex(word)]
                for idx, slot in self._slots("filter", 2)
                if (word := self._read("filter", idx << SLOTS_LOG2 | slot))
            ],
            "requests": [
                [slot, hex(word)]
                for (slot,) in self._slots("requests", 1)
                if (word := self._read("requests", slot))
            ],
        }

    def _slots(self, table: str, width: int) -> set[tuple[int, ...]]:
        """Those that the scenario speaks of."""
        entries = [*self._before[table], *self._expected[table]]
        return {tuple(entry[:width]) for entry in entries}

    def _read(self, register: str, index: int) -> int:
        return parse_register(self._cli.run([f"register_read {register} {index}"])[0])

    def _read_all(self, register: str) -> list[int]:
        text = self._cli.run([f"register_read {register}"])[0]
        return [int(value) for value in text.rpartition("=")[2].split(",")]

    def _read_fdb(self) -> dict[str, int]:
        words = [word for word in self._read_all("fdb") if word]
        return {(word & (1 << 48) - 1).to_bytes(6, "big").hex(":"): word >> 48 for word in words}

    def _read_states(self) -> dict[str, int]:
        states = self._read_all("SwitchIngress.states.state")
        assert states == self._read_all("SwitchIngress.states.shadow_state")
        known = {int(sid) for sid in self._before["state"]}
        return {str(sid): q for sid, q in enumerate(states) if q or sid in known}


def _register_writes(tables: Tables) -> Iterator[str]:
    for sid, queue in tables["state"].items():
        yield f"register_write SwitchIngress.states.state {sid} {queue}"
        yield f"register_write SwitchIngress.states.shadow_state {sid} {queue}"
    yield f"register_write sequence 0 {tables['sequence']}"
    for idx, slot, word in tables["filter"]:
        yield f"register_write filter {idx << SLOTS_LOG2 | slot} {int(word, 16)}"
    for slot, word in tables["requests"]:
        yield f"register_write requests {slot} {int(word, 16)}"
