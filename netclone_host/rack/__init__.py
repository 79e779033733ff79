# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The software rack: hosts and switches as network namespaces, joined by veth pairs."""
