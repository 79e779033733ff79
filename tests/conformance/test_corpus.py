# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The corpus itself, and the oracle on it."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.conformance import write_corpus
from tests.conformance.playing import play
from tests.conformance.runners.oracle import Oracle
from tests.conformance.scenario import CORPUS, Scenario, corpus

SCENARIOS = list(corpus())


def test_corpus_is_what_the_scenarios_say() -> None:
    books = write_corpus.books()
    assert sorted(path.name for path in CORPUS.glob("*.json")) == sorted(books)
    for name, scenarios in books.items():
        assert (CORPUS / name).read_text() == write_corpus.text(scenarios), (
            f"{name} is stale: python -m tests.conformance.write_corpus"
        )


def test_corpus_is_large_and_its_names_are_unique() -> None:
    assert len(SCENARIOS) >= 150
    twice = [name for name, n in Counter(s.name for s in SCENARIOS).items() if n > 1]
    assert not twice
    assert {scenario.role for scenario in SCENARIOS} == {"switch", "server", "client"}


def test_the_form_is_documented() -> None:
    """A runner can be written from the README: it names every key and every table."""
    readme = CORPUS.parent.joinpath("README.md").read_text()
    keys = set()
    for path in CORPUS.glob("*.json"):
        for scenario in json.loads(path.read_text()):
            keys |= {*scenario, *scenario["config"], *scenario["before"], *scenario["after"]}
            keys |= {key for step in scenario["steps"] for key in step}
    assert {key for key in keys if f"`{key}`" not in readme} == set()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_oracle(scenario: Scenario) -> None:
    play(Oracle(), scenario)
