# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attaching a role to an interface, and undoing it."""
