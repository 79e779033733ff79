# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Does the generator do on this machine what it claims?"""
