# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The P4 switches: BMv2 and Tofino."""
