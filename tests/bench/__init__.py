# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Benchmarks: `python -m tests.bench.NAME`, or `make bench` for all."""
