# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What section 3.7 of the paper adds to Algorithm 1, and what goes beyond the paper: one idea a
module, each naming the line that it changes."""
