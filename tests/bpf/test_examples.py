# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The programs of `examples/` work, and the machines they run on are gone afterwards."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "real-machines.sh"


@pytest.mark.parametrize("language", ["python", "c"])
def test_client_and_servers(clean_slate: None, language: str) -> None:
    prefix = f"nct-{os.getpid()}-{secrets.token_hex(2)}"
    ran = subprocess.run(
        [SCRIPT, language, "50"],
        env=os.environ | {"NETCLONE_EXAMPLE": prefix},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    cloned = re.search(r"^50 requests, 0 lost, (\d+) cloned$", ran.stdout, re.MULTILINE)
    assert cloned, ran.stdout
    answered = re.findall(r"^server [01] answered (\d+)$", ran.stdout, re.MULTILINE)
    assert sum(map(int, answered)) == 50
    # The example ends with the switch's own account of it.
    assert re.search(rf"ingress +cloned +{cloned[1]} ", ran.stdout)
    assert not list(Path("/run/netns").glob(f"{prefix}*"))
    assert "Traceback" not in ran.stderr


def test_a_language_that_has_none_is_refused_before_anything_is_made() -> None:
    ran = subprocess.run([SCRIPT, "fortran"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert "python and c" in ran.stderr
