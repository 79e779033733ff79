# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The documents speak of what is there: every link and path leads somewhere, and the page of a
command names each of its verbs and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from loadgen import cli as loadgen_cli
from netclone_host import cli as host_cli

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")],
)
ROOMS = ("xdp", "p4", "netclone_host", "loadgen", "tests", "examples")
# What a path of the tree begins with, in running text and in tables.
_PATH = re.compile(r"`((?:xdp|p4|netclone_host|loadgen|tests|docs|examples|scripts)/[\w./*-]+)")
# A file named without its folder.
_FILE = re.compile(r"`(\w+\.(?:h|c|p4|py|mk))`")
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
_MODULE = re.compile(r"(?:python -m |`)((?:netclone_host|loadgen|tests)(?:\.\w+)+)")

MANUALS = {
    "netclone-host": ["netclone-host.md", "rack.md"],
    "netclone-loadgen": ["loadgen.md", "rack.md", "simulator.md", "advisor.md", "figures.md"],
}


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _anchors(document: Path) -> set[str]:
    """Headings as GitHub turns them into anchors."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_links_lead_somewhere(document: Path) -> None:
    for target, anchor in _LINK.findall(document.read_text()):
        if target.startswith("http"):
            continue
        linked = document.parent / target if target else document
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked), f"{target}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_paths_exist(document: Path) -> None:
    if document.name == "CHANGELOG.md":
        return  # it speaks of what was, too
    for path in _PATH.findall(document.read_text()):
        assert list(ROOT.glob(path.rstrip("./"))), path
    for name in _FILE.findall(document.read_text()):
        assert any(next((ROOT / room).rglob(name), None) for room in ROOMS), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_modules_exist(document: Path) -> None:
    """The longest part of the name that is a module; what follows is inside of it."""
    for name in _MODULE.findall(document.read_text()):
        first, second, *_ = name.split(".")
        inside = ROOT / first / second
        assert inside.is_dir() or inside.with_suffix(".py").exists(), name
        parts = name.split(".")
        candidates = [ROOT.joinpath(*parts[:length]) for length in (len(parts), len(parts) - 1)]
        assert any(c.is_dir() or c.with_suffix(".py").exists() for c in candidates), name


def _verbs(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _verbs(inner, (*words, name))
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield " ".join(words), command


@pytest.mark.parametrize(
    ("program", "command"),
    [("netclone-host", host_cli.main), ("netclone-loadgen", loadgen_cli.main)],
)
def test_manual_names_every_verb_and_option(program: str, command: click.Command) -> None:
    manual = "".join((ROOT / "docs" / page).read_text() for page in MANUALS[program])
    missing = [
        f"{verb} {option}"
        for verb, leaf in _verbs(command, ())
        for option in ["", *(o for p in leaf.params for o in p.opts if o.startswith("--"))]
        if option not in manual or verb.split()[-1] not in manual
    ]
    assert not missing, missing
