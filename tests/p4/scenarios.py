# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The scenarios of the corpus that the P4 programs play, and why not the others."""

from __future__ import annotations

from tests.conformance.scenario import CORPUS, Scenario, corpus, load
from tests.p4 import tna_rules

BELIEF = {scenario.name for scenario in load(CORPUS / "trust.json")} | {
    "already-cloned-clo-1",
    "already-cloned-clo-2",
    "learn-not-from-untouched",
    "multi-collision-overwrites",
    "sequence-not-used-by-untouched",
    "source-through-another-port",
    "write-already-cloned",
}
"""What a switch believes of whom (docs/threat-model.md), which the P4 programs do not have yet."""


def beyond_the_program(scenario: Scenario) -> str:
    """Why a P4 switch does not have this rule; empty if it has."""
    if scenario.name in BELIEF:
        return "rules against hostile traffic are not in the P4 programs"
    if scenario.config["server_timeout_ms"]:
        return "failure detection: the control plane takes failed servers out"
    if scenario.config["generic"]:
        return "generic mode is XDP's"
    if scenario.config.get("reserve"):
        return "the reserve rule is not in the P4 programs"
    if "filter_slots" in scenario.config:
        return "filter tables are played in the size that is compiled in"
    if scenario.config.get("hold"):
        return "a P4 switch needs no hold: a copy leaves by its server's port, not by its group's"
    if scenario.name.startswith("retransmitted-"):
        return "the P4 programs do not count attempts"
    if scenario.name == "response-zero-ipv6-comes-to-0":
        return "simple_switch writes a sum that it computes in full and that comes to 0 as 0"
    if scenario.name.startswith("udp-partial-padded"):
        return "simple_switch sums whatever follows the headers, padding too"
    return ""


SCENARIOS = [
    scenario
    for scenario in corpus()
    if scenario.role == "switch" and not beyond_the_program(scenario)
]
"""What simple_switch plays."""
SAME = [scenario for scenario in SCENARIOS if not tna_rules.difference(scenario)]
"""What the TNA program plays as the oracle does."""
