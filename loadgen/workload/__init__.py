# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is measured: arrivals, services, schemes, and the record of a run."""
