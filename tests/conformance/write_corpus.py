# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes tests/conformance/corpus/ from scenarios/: python -m tests.conformance.write_corpus"""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module

from tests.conformance import scenarios
from tests.conformance.scenario import CORPUS, Scenario
from tests.conformance.writing import Book


def books() -> dict[str, list[Scenario]]:
    """File name -> its scenarios, as they are written now."""
    written: dict[str, list[Scenario]] = {}
    for module in pkgutil.iter_modules(scenarios.__path__):
        book = Book()
        import_module(f"{scenarios.__name__}.{module.name}").write(book)
        written[f"{module.name}.json"] = list(book.scenarios)
    return written


def text(scenarios: list[Scenario]) -> str:
    """One scenario a line, so that a change shows as the scenario that it changes."""
    lines = (json.dumps(scenario.to_json(), sort_keys=False) for scenario in scenarios)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> None:
    CORPUS.mkdir(exist_ok=True)
    for name, written in books().items():
        (CORPUS / name).write_text(text(written))
        print(f"{name}: {len(written)} scenarios")


if __name__ == "__main__":
    main()
