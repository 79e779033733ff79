# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rack's switch in P4: simple_switch in the switch's namespace, instead of the bridge.

Its command line names the rack's directory, so `rack down` finds and stops it even after a crash.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from netclone_host.control.backend import apply
from netclone_host.control.p4.bmv2 import Bmv2Switch
from netclone_host.control.p4.bmv2_cli import DEFAULT_PORT, RuntimeCli
from netclone_host.control.p4.plan import BMV2, p4_plan
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.rack import links
from netclone_host.rack.journal import Journal, Step
from netclone_host.rack.plan import NODE_LINK, Plan, SwitchNode
from netclone_host.topology import Topology

SWITCH, COMPILER = "simple_switch", "p4c-bm2-ss"
_SOURCE = Path(__file__).resolve().parents[2] / "p4" / "v1model" / "netclone.p4"
_PROGRAM = "netclone.json"
_START_S, _STOP_S = 30, 5

# simple_switch sends packets as unfinished as the host's socket left them, but the program
# completes the checksums of NetClone packets only.
_HOST_OFFLOADS = (
    "tx-checksum-ip-generic",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
    "tx-generic-segmentation",
)


def check(plan: Plan) -> None:
    """UserError, before anything is built, if this machine cannot run the switch in P4."""
    if len(plan.switches) > 1:
        raise UserError("a rack pair has XDP switches", hint="omit --switch bmv2 or --racks")
    for program, package in ((SWITCH, "BMv2 (behavioral-model)"), (COMPILER, "p4c")):
        if shutil.which(program) is None:
            raise UserError(
                f"{program} is not on the PATH", hint=f"install {package}, or use --switch xdp"
            )
    p4_plan(numbered(plan), BMV2)


def numbered(plan: Plan) -> Topology:
    """The topology with the switch's links as port numbers, 1 and up."""
    numbers = {link: number for number, link in enumerate(plan.switches[0].ports(plan), start=1)}
    topology = plan.topology
    return dataclasses.replace(
        topology,
        servers=tuple(dataclasses.replace(s, port=numbers[str(s.port)]) for s in topology.servers),
        clients=tuple(dataclasses.replace(c, port=numbers[str(c.port)]) for c in topology.clients),
    )


def start(plan: Plan, journal: Journal) -> None:
    """Compile the program, run it on the switch's links, and fill its tables."""
    switch = plan.switches[0]
    program = _compile(journal.directory / _PROGRAM)
    links.dissolve_bridge(switch.netns, switch.ports(plan))
    for node in plan.nodes:
        links.set_features(node.netns, NODE_LINK, dict.fromkeys(_HOST_OFFLOADS, False))
    journal.record(Step.BMV2, name=switch.netns)
    process = _run(switch, switch.ports(plan), program, journal.directory)
    with netns.entered(switch.netns):
        _wait_for(process, journal.directory)
        with RuntimeCli() as cli:
            apply(Bmv2Switch(cli), p4_plan(numbered(plan), BMV2))


def processes(namespace: str, directory: Path) -> list[int]:
    """Process ids of the simple_switch that runs a rack's program."""
    program = str(directory / _PROGRAM).encode()
    return [pid for pid in netns.processes_inside(namespace) if program in _words(pid)]


def stop(namespace: str, directory: Path) -> None:
    """End the simple_switch that runs a rack's program, if there is one."""
    program = str(directory / _PROGRAM).encode()
    pids = processes(namespace, directory)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    _wait_until_gone(pids, program)
    for pid in pids:
        if program in _words(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    _wait_until_gone(pids, program)


def _wait_until_gone(pids: list[int], program: bytes) -> None:
    """For a while: a process that stays keeps its links open."""
    deadline = time.monotonic() + _STOP_S
    while any(program in _words(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)


def _compile(target: Path) -> Path:
    done = subprocess.run(
        [COMPILER, "-o", str(target), str(_SOURCE)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        raise UserError(
            f"{COMPILER} does not compile {_SOURCE.name}: {lines[0] if lines else 'no reason'}",
            hint="docs/p4.md says which compilers were tried",
        )
    return target


def _run(
    switch: SwitchNode, ports: list[str], program: Path, directory: Path
) -> subprocess.Popen[bytes]:
    command = [SWITCH, f"--thrift-port={DEFAULT_PORT}"]
    command += [f"--notifications-addr=ipc://{directory}/notifications.ipc"]
    for number, link in enumerate(ports, start=1):
        command += ["-i", f"{number}@{link}"]
    with netns.entered(switch.netns), (directory / "simple_switch.log").open("wb") as log:
        return subprocess.Popen(
            [*command, str(program)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_for(process: subprocess.Popen[bytes], directory: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            log = (directory / "simple_switch.log").read_text(errors="replace").splitlines()
            raise UserError(
                f"simple_switch ended at once: {log[-1] if log else 'it said nothing'}",
                hint=f"try it by hand: {' '.join(map(str, process.args))}",  # type: ignore[arg-type]
            )
        with suppress(OSError), socket.create_connection(("127.0.0.1", DEFAULT_PORT), 1):
            return
        time.sleep(0.05)
    raise UserError(
        f"simple_switch did not open its Thrift port in {_START_S} s", hint="is the machine busy?"
    )


def _words(pid: int) -> list[bytes]:
    """Command line of a process; empty if it is gone, or a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
