# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the P4 compiler and BMv2 are. Neither is in a package registry, so a test that
needs one is skipped by its name, or fails if NETCLONE_REQUIRE_P4=1."""

from __future__ import annotations

import os
import shutil

import pytest


def require(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if not missing:
        return
    reason = f"{', '.join(missing)} not on the PATH"
    if os.environ.get("NETCLONE_REQUIRE_P4") == "1":
        pytest.fail(f"NETCLONE_REQUIRE_P4=1, but {reason}")
    pytest.skip(reason)
