# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Settings for every test."""

from __future__ import annotations

import signal

from hypothesis import settings

# Speed is measured in benchmarks; a busy machine must not fail a test.
settings.register_profile("netclone", deadline=None)
settings.load_profile("netclone")

# In the background of a shell SIGINT is ignored, and would be by every program under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
