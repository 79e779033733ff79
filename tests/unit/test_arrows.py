# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Dependencies point one way: between the two packages, between their rooms, between modules.

Every import counts, also one inside a function.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Each room imports only from those before it, and from its own modules. What is not a room of
# netclone_host lies below all of them.
HOST_ROOMS = ("model", "kernel", "attach", "control", "rack", "cli", "entry")
LOADGEN_ROOMS = (
    "workload",
    "native",
    "machine",
    "traffic",
    "sim",
    "plot",
    "rack",
    "advise",
    "figures",
    "check",
    "cli",
    "entry",
)
LAZY = "netclone_host.cli.rack.run"
"""The verb that measures: it looks loadgen up when it runs."""


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    module_of(path): path
    for package in ("netclone_host", "loadgen")
    for path in sorted((ROOT / package).rglob("*.py"))
}


def imported_by(nodes: Iterator[ast.AST]) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return found & MODULES.keys()


TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
IMPORTS = {name: imported_by(ast.walk(tree)) for name, tree in TREES.items()}
ARROWS = [(source, target) for source, targets in IMPORTS.items() for target in targets]


def room_of(module: str) -> tuple[str, str]:
    package, _, rest = module.partition(".")
    return package, rest.partition(".")[0]


def height(module: str, rooms: tuple[str, ...]) -> int:
    room = room_of(module)[1]
    return rooms.index(room) if room in rooms else -1


@pytest.mark.parametrize(
    ("package", "rooms"), [("netclone_host", HOST_ROOMS), ("loadgen", LOADGEN_ROOMS)]
)
def test_every_room_uses_only_those_below(package: str, rooms: tuple[str, ...]) -> None:
    inside = [
        (source, target)
        for source, target in ARROWS
        if room_of(source)[0] == room_of(target)[0] == package
    ]
    assert inside
    upwards = [arrow for arrow in inside if height(arrow[0], rooms) < height(arrow[1], rooms)]
    assert upwards == []


def test_every_room_of_loadgen_has_its_place() -> None:
    rooms = {room_of(module)[1] for module in MODULES if module.startswith("loadgen.")}
    assert rooms == set(LOADGEN_ROOMS)


def test_netclone_host_does_not_know_loadgen() -> None:
    upwards = {
        source
        for source, target in ARROWS
        if room_of(source)[0] == "netclone_host" and room_of(target)[0] == "loadgen"
    }
    assert upwards == {LAZY}
    assert not [name for name in imported_by(iter(TREES[LAZY].body)) if name.startswith("loadgen")]


def test_what_shows_the_kernel_knows_nothing_of_netclone() -> None:
    allowed = ("netclone_host.kernel", "netclone_host.errors")
    strangers = [
        (source, target)
        for source, target in ARROWS
        if source.startswith("netclone_host.kernel") and not target.startswith(allowed)
    ]
    assert strangers == []


def test_no_circle_between_modules() -> None:
    list(graphlib.TopologicalSorter(IMPORTS).static_order())


def test_no_circle_between_rooms() -> None:
    rooms: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for source, target in ARROWS:
        if room_of(source) != room_of(target):
            rooms.setdefault(room_of(source), set()).add(room_of(target))
    del rooms["netclone_host", "cli"]  # which looks loadgen up, see above
    list(graphlib.TopologicalSorter(rooms).static_order())
