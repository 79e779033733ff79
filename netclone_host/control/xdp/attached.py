# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The attached XDP switch that a command means without having to name it."""

from __future__ import annotations

from netclone_host.attach import recovery, status
from netclone_host.attach.journal import Attachment
from netclone_host.attach.roles import Role
from netclone_host.errors import UserError
from netclone_host.kernel import netns


def attached_switch(ifname: str | None, option: str) -> Attachment:
    """The switch with port `ifname`, or the only one of this network namespace.

    UserError if there is none, or several; `option` is the user's way to name a port."""
    if ifname is not None:
        attachment = status.attached_to(ifname)
        if attachment.role != Role.SWITCH:
            raise UserError(
                f"{ifname} is attached as a {attachment.role}, not as a switch",
                hint="'netclone-host status' lists roles",
            )
        return attachment
    found = [one for one in status.attachments() if one.role == Role.SWITCH and one.complete]
    if len(found) == 1:
        return status.attached_to(_port_of(found[0]))
    if not found:
        for left in status.remains():
            if left.attachment.role in (Role.SWITCH, ""):
                raise left.error()
        raise UserError(
            "no XDP switch is attached in this network namespace",
            hint="attach one first: netclone-host attach PORT... --role switch --topology FILE",
        )
    ports = ", ".join(map(_port_of, found))
    raise UserError(
        f"{len(found)} XDP switches are attached in this network namespace",
        hint=f"name a port of the one that is meant, with {option}: {ports}",
    )


def _port_of(attachment: Attachment) -> str:
    return recovery.names_now(attachment, netns.current())[0]
