# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The two loaders: libbpf (default) and BCC."""
