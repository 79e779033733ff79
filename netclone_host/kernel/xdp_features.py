# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the driver of an interface says that it can do for XDP (netlink family `netdev`, 6.3)."""

from __future__ import annotations

import enum
import errno

from pyroute2.netlink import NLM_F_REQUEST, genlmsg
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic import GenericNetlinkSocket

_FAMILY = "netdev"
_DEV_GET = 1  # NETDEV_CMD_DEV_GET


class XdpFeature(enum.IntFlag):
    """enum netdev_xdp_act, as far as it is used here."""

    BASIC = 1
    """Runs programs in native mode."""
    NDO_XMIT = 4
    """Transmits frames that a program of another interface redirects to it."""


class _Device(genlmsg):  # type: ignore[misc]
    nla_map = (
        ("NETDEV_A_DEV_UNSPEC", "none"),
        ("NETDEV_A_DEV_IFINDEX", "uint32"),
        ("NETDEV_A_DEV_PAD", "hex"),
        ("NETDEV_A_DEV_XDP_FEATURES", "uint64"),
    )


def of(ifindex: int) -> XdpFeature | None:
    """None where the kernel cannot tell."""
    with GenericNetlinkSocket() as channel:
        try:
            channel.bind(_FAMILY, _Device)
        except NetlinkError as error:
            if error.code != errno.ENOENT:
                raise
            return None
        request = _Device()
        request["cmd"], request["version"] = _DEV_GET, 1
        request["attrs"] = [("NETDEV_A_DEV_IFINDEX", ifindex)]
        (answer,) = channel.nlm_request(request, msg_type=channel.prid, msg_flags=NLM_F_REQUEST)
        return XdpFeature(answer.get_attr("NETDEV_A_DEV_XDP_FEATURES"))
