# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes tests/conformance/corpus/ from scenarios/: python -m tests.conformance.write_corpus"""

from __future__ import annotations

import json

from tests.conformance.scenario import CORPUS, Scenario
from tests.conformance.scenarios import (
    beyond,
    checksums,
    extensions,
    failure,
    hosts,
    multi_packet,
    parsing,
    requests,
    responses,
)
from tests.conformance.writing import Book

MODULES = (
    beyond,
    checksums,
    extensions,
    failure,
    hosts,
    multi_packet,
    parsing,
    requests,
    responses,
)


def books() -> dict[str, list[Scenario]]:
    """File name -> its scenarios, as they are written now."""
    written: dict[str, list[Scenario]] = {}
    for module in MODULES:
        book = Book()
        module.write(book)
        written[module.__name__.rpartition(".")[2] + ".json"] = list(book.scenarios)
    return written


def text(scenarios: list[Scenario]) -> str:
    """One scenario a line, so that a change shows as the scenario that it changes."""
    lines = (json.dumps(scenario.to_json(), sort_keys=False) for scenario in scenarios)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> None:
    CORPUS.mkdir(exist_ok=True)
    for name, scenarios in books().items():
        (CORPUS / name).write_text(text(scenarios))
        print(f"{name}: {len(scenarios)} scenarios")


if __name__ == "__main__":
    main()
