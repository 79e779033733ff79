# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Replicated reads on real key-value stores (section 5.5 of the paper)."""
