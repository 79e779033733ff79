# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Intel's Tofino model and its driver (open-p4studio, or the SDE), running a compiled program on
veth links of the test's own.

One at a time on a machine: model and driver meet on fixed TCP ports.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute

from netclone_host.control.p4.tofino import TofinoSwitch
from netclone_host.errors import UserError

PROGRAMS = ("tofino-model", "bf_switchd")
PORTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
"""Device ports with a link: those of the corpus, 0 for what passes on untouched."""
_PIPES = [0, 1, 2, 3]
_TOFINO_1 = "2"
"""Of the model's chip types."""
_START_S, _STOP_S = 180, 10
_ETH_P_ALL = 3


@dataclass(frozen=True)
class Build:
    """Where the compiler left what the driver loads."""

    directory: Path

    @property
    def pipe(self) -> Path:
        return self.directory / "pipe"

    def write_conf(self) -> Path:
        """The configuration file of model and driver."""
        pipeline = {
            "p4_pipeline_name": "pipe",
            "context": str(self.pipe / "context.json"),
            "config": str(self.pipe / "tofino.bin"),
            "pipe_scope": _PIPES,
            "path": str(self.directory),
        }
        program = {
            "program-name": "netclone",
            "bfrt-config": str(self.directory / "bf-rt.json"),
            "p4_pipelines": [pipeline],
        }
        device = {"device-id": 0, "p4_programs": [program], "agent0": "lib/libpltfm_mgr.so"}
        conf = self.directory / "netclone.conf"
        chip = {"chip_family": "tofino", "instance": 0}
        conf.write_text(json.dumps({"chip_list": [chip], "p4_devices": [device]}, indent=1))
        return conf


@contextlib.contextmanager
def links() -> Iterator[dict[int, tuple[str, str]]]:
    """Port -> the model's end of its link and the test's."""
    names = {port: (f"nct{os.getpid()}m{port}", f"nct{os.getpid()}h{port}") for port in PORTS}
    with IPRoute() as ip:
        try:
            for ours, theirs in names.values():
                ip.link("add", ifname=ours, kind="veth", peer={"ifname": theirs})
                for name in (ours, theirs):
                    ip.link("set", index=ip.link_lookup(ifname=name)[0], state="up", mtu=10240)
            yield names
        finally:
            for ours, _ in names.values():
                for index in ip.link_lookup(ifname=ours):
                    ip.link("del", index=index)


@contextlib.contextmanager
def running(build: Build) -> Iterator[Running]:
    """The model, its driver with the program loaded, and sockets on all ports."""
    install = os.environ["SDE_INSTALL"]
    conf = build.write_conf()
    with contextlib.ExitStack() as undo:
        names = undo.enter_context(links())
        ports = build.directory / "ports.json"
        entries = [{"device_port": port, "if": ours} for port, (ours, _) in names.items()]
        ports.write_text(json.dumps({"PortToIf": entries}))
        model = ["tofino-model", "-d", "1", "-f", str(ports), "--p4-target-config", str(conf)]
        model += ["--install-dir", install, "--chip-type", _TOFINO_1, "--logs-disable"]
        driver = ["bf_switchd", "--install-dir", install, "--conf-file", str(conf)]
        driver += ["--init-mode=cold", "--background"]
        for command in (model, driver):
            undo.enter_context(_process(command, build.directory))
        wires = undo.enter_context(Wires({port: theirs for port, (_, theirs) in names.items()}))
        yield Running(_connected(build.directory), wires)


@contextlib.contextmanager
def _process(command: list[str], directory: Path) -> Iterator[None]:
    library_path = f"{os.environ['SDE_INSTALL']}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}"
    with (directory / f"{command[0]}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LD_LIBRARY_PATH": library_path},
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _connected(directory: Path) -> TofinoSwitch:
    """The driver, once it answers."""
    deadline = time.monotonic() + _START_S
    while True:
        try:
            return TofinoSwitch()
        except UserError as error:
            if time.monotonic() > deadline:
                log = (directory / "bf_switchd.log").read_text(errors="replace")
                raise AssertionError(f"{error.message}; its log ends: {log[-500:]}") from None
        time.sleep(1)


@dataclass(frozen=True)
class Running:
    """The control plane's switch, and its links."""

    switch: TofinoSwitch
    wires: Wires


class Wires:
    """Raw sockets on the far ends of the links."""

    def __init__(self, names: dict[int, str]) -> None:
        self._sockets = {}
        for port, name in names.items():
            wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
            wire.bind((name, 0))
            wire.setblocking(False)
            self._sockets[port] = wire

    def __enter__(self) -> Wires:
        return self

    def __exit__(self, *_: object) -> None:
        for wire in self._sockets.values():
            wire.close()

    def send(self, port: int, frame: bytes) -> None:
        self._sockets[port].send(frame)

    def receive(self) -> list[tuple[int, bytes]]:
        """What has come in since the last call; what we sent ourselves is left out."""
        frames = []
        for port, wire in self._sockets.items():
            with contextlib.suppress(BlockingIOError):
                while True:
                    frame, address = wire.recvfrom(10240)
                    if address[2] != socket.PACKET_OUTGOING:
                        frames.append((port, frame))
        return frames
