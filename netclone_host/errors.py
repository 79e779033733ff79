# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Errors that users can cause: one sentence, one hint, an exit status, no traceback."""

from __future__ import annotations


class NetcloneError(Exception):
    """What failed (`message`), what to do about it (`hint`), and an exit status."""

    exit_status = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(NetcloneError):
    """Bad input or an unfit machine; nothing was changed or lost."""


class PrivilegeError(UserError):
    """The caller may not load BPF programs or change interfaces."""


class MissingFeatureError(UserError):
    """The kernel or a library lacks something that NetClone needs."""


class ForeignProgramError(UserError):
    """Somebody else's program or qdisc is in the way."""


class VerifierError(UserError):
    """The kernel refused a program; the hint carries the line that matters."""
