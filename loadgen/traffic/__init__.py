# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What sends and answers: clients, servers, the coordinator, their back ends."""
