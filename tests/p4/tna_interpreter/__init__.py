# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs the TNA program as p4c's front end leaves it: every state, table, register action and
checksum of P4's own semantics. There is no public Tofino model; this says what the program
means, not what the chip makes of it."""
