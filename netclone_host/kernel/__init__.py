# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What Linux offers: libbpf, maps, links, XDP, tc, namespaces. Knows nothing of NetClone."""
