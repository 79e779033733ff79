# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BMv2's runtime command line: runs commands and parses what it prints."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netclone_host.closeable import Closeable
from netclone_host.errors import UserError

COMMAND = "simple_switch_CLI"
DEFAULT_PORT = 9090
_TIMEOUT_S = 60
_PROMPT = b"RuntimeCmd: "
_AHEAD = 64
"""Commands sent before their answers are read, so few that neither pipe fills up."""
_REFUSALS = re.compile(r"^(Invalid .*|Error: .*|.*[Uu]nknown syntax.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """An entry of a table dump: numbers as the switch holds them."""

    handle: int
    match: tuple[int, ...]
    action: str
    params: tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A node of a multicast group: a replication id and its ports."""

    handle: int
    rid: int
    ports: tuple[int, ...]


class RuntimeCli(Closeable):
    """Talks to one running simple_switch through its Thrift port. The first command starts the
    command line, which ends with this object."""

    def __init__(self, port: int = DEFAULT_PORT) -> None:
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def run(self, commands: Sequence[str]) -> list[str]:
        """The output of each command. UserError if one is refused."""
        outputs: list[str] = []
        for start in range(0, len(commands), _AHEAD):
            part = commands[start : start + _AHEAD]
            self._send(part)
            for command in part:
                outputs.append(self._receive())
                if refusal := _REFUSALS.search(outputs[-1]):
                    raise UserError(
                        f"simple_switch refused '{command}': {refusal.group()}",
                        hint="is the program that runs there built from p4/v1model/netclone.p4 "
                        "of this version?",
                    )
        return outputs

    def _send(self, commands: Sequence[str]) -> None:
        if self._process is None:
            self._process = self._start()
            self._receive()  # its greeting
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{line}\n" for line in commands).encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._unreachable(b"it went away") from None

    def _start(self) -> subprocess.Popen[bytes]:
        path = shutil.which(COMMAND)
        if path is None:
            raise UserError(
                f"{COMMAND} is not on the PATH",
                hint="install BMv2 (behavioral-model) with its Thrift runtime, or use --dry-run",
            )
        return subprocess.Popen(
            [path, "--thrift-port", str(self._port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _receive(self) -> str:
        """What comes before the next prompt."""
        assert self._process is not None and self._process.stdout is not None
        output = self._process.stdout.fileno()
        while _PROMPT not in self._unread:
            if not select.select([output], [], [], _TIMEOUT_S)[0]:
                raise self._unreachable(f"no answer in {_TIMEOUT_S} s".encode())
            received = os.read(output, 1 << 16)
            if not received:
                raise self._unreachable(self._unread)
            self._unread += received
        reply, _, self._unread = self._unread.partition(_PROMPT)
        return reply.decode(errors="replace")

    def _unreachable(self, said: bytes) -> UserError:
        self.close()
        lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
        return UserError(
            f"cannot reach simple_switch on Thrift port {self._port}: "
            f"{lines[-1] if lines else 'no output'}",
            hint="start simple_switch with --thrift-port, and name that port with --address",
        )


_ACTION = re.compile(r"Action entry: (\S+) - ?(.*)")


def parse_table(text: str) -> tuple[list[Entry], tuple[str, tuple[int, ...]] | None]:
    """What table_dump prints: the entries and the default action."""
    body, _, default = text.partition("Dumping default entry")
    entries = [_entry(block) for block in body.split("Dumping entry ")[1:]]
    found = _ACTION.search(default)
    return entries, _action(found) if found else None


def _entry(block: str) -> Entry:
    handle = int(block.split(None, 1)[0], 16)
    match = tuple(int(line.split()[-1], 16) for line in block.splitlines() if line.startswith("* "))
    found = _ACTION.search(block)
    if found is None:
        raise UserError(
            f"{COMMAND} printed an entry without an action",
            hint="this version of BMv2 prints its tables in a form that is not known here",
        )
    action, params = _action(found)
    return Entry(handle, match, action, params)


def _action(found: re.Match[str]) -> tuple[str, tuple[int, ...]]:
    params = [text.strip() for text in found.group(2).split(",")]
    return found.group(1), tuple(int(text, 16) for text in params if text)


_GROUP = re.compile(r"mgrp\((\d+)\)")
_NODE = re.compile(r"-> \(L1h=(\d+), rid=(\d+)\)\s*-> \(ports=\[([\d, ]*)\]")


def parse_multicast(text: str) -> dict[int, list[Node]]:
    """What mc_dump prints: group -> nodes."""
    groups: dict[int, list[Node]] = {}
    for group, line in _lines_by_group(text):
        nodes = groups.setdefault(group, [])
        if found := _NODE.search(line):
            ports = tuple(int(port) for port in found.group(3).split(",") if port.strip())
            nodes.append(Node(int(found.group(1)), int(found.group(2)), ports))
    return groups


def _lines_by_group(text: str) -> Iterator[tuple[int, str]]:
    group: int | None = None
    for line in text.splitlines():
        if found := _GROUP.search(line):
            group = int(found.group(1))
        elif line.startswith("===="):
            group = None
        if group is not None:
            yield group, line


def parse_node_handle(text: str) -> int:
    """What mc_node_create prints."""
    return int(text.split("handle")[-1].split()[0])


def parse_register(text: str) -> int:
    """What register_read of one index prints."""
    return int(text.partition("=")[2].split()[0])


def parse_counter(text: str) -> int:
    """Packets of what counter_read prints."""
    found = re.search(r"(\d+) packets", text)
    if found is None:
        raise UserError(
            f"{COMMAND} printed a counter without packets",
            hint="this version of BMv2 prints its counters in a form that is not known here",
        )
    return int(found[1])
