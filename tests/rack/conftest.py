# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Racks with names of their own, so that several runs of the tests go side by side."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest

from netclone_host.rack import build
from netclone_host.rack.plan import Plan, default_topology, make_plan


def random_rack_name() -> str:
    """Unique to the process and the call."""
    return f"t{os.getpid()}-{secrets.token_hex(2)}"


@pytest.fixture(scope="session", autouse=True)
def _root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: network namespaces")


@pytest.fixture
def rack_name() -> Iterator[str]:
    """A free name; whatever rack gets it is taken down."""
    name = random_rack_name()
    yield name
    build.down(name)


@pytest.fixture(scope="module")
def plain_rack() -> Iterator[Plan]:
    """Two servers and two clients, without programs."""
    plan = make_plan(random_rack_name(), default_topology(2, 2))
    build.up(plan, None)
    yield plan
    build.down(plan.name)
