# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The C logic as an ordinary library, against the oracle, on generated scenarios.

NETCLONE_EXAMPLES multiplies the number of examples (make fuzz: deeper).
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from netclone_host.attach.roles import Role
from netclone_host.kernel.xdp import XdpMode
from tests.conformance.generated import check, scenarios
from tests.conformance.runners.native import Native
from tests.conformance.runners.xdp import Xdp

EXAMPLES = int(os.environ.get("NETCLONE_EXAMPLES", "1"))


ROLES = ("switch", "server", "client")


def examined(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(
        max_examples=examples * EXAMPLES,
        phases=[Phase.generate],
        deadline=None,
        derandomize=EXAMPLES == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.mark.parametrize("role", ROLES)
def test_native_agrees_with_oracle(role: str) -> None:
    target = Native()

    @examined(120)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        check(target, data.draw(scenarios(role)))

    run()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: XDP, namespaces")
@pytest.mark.parametrize("loader", ["libbpf", "bcc"])
@pytest.mark.parametrize("role", ROLES)
def test_xdp_agrees_with_oracle(role: str, loader: str) -> None:
    """In real time: nothing that depends on a clock."""
    xdp = Xdp(Role(role), loader, XdpMode.NATIVE, filter_tables=4)

    @examined(8)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        check(xdp, data.draw(scenarios(role, timed=False)))

    try:
        run()
    finally:
        xdp.close()
