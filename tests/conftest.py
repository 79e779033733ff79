# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Settings for every test."""

from __future__ import annotations

from hypothesis import settings

# Speed is measured in benchmarks; a busy machine must not fail a test.
settings.register_profile("netclone", deadline=None)
settings.load_profile("netclone")
