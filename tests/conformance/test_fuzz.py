# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A short run of each fuzzer, under AddressSanitizer and UBSan; `make fuzz TIME=60` is longer."""

from __future__ import annotations

import shutil

import pytest

from tests.conformance import fuzz

SECONDS = 4

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang: libFuzzer")


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    fuzz.build()


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_fuzzer_finds_nothing(target: str) -> None:
    result = fuzz.run(target, SECONDS)
    assert not result.failed, result.said
    assert result.inputs > 100, result.said
