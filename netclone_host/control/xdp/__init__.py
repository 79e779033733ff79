# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The XDP switch: tables in maps, changed under traffic."""
