# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Link-layer addresses of servers, for frames that are built here."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence

from pyroute2 import IPRoute

from loadgen.native.io_structs import AlignedPeer
from loadgen.traffic.endpoints import Endpoint
from netclone_host.errors import UserError
from netclone_host.kernel import netns


def set_macs(
    peers: ctypes.Array[AlignedPeer], endpoints: Sequence[Endpoint], client: Endpoint, ifname: str
) -> None:
    """Writes each endpoint's MAC address into its peer, from the neighbour table of `ifname`
    in `client`'s namespace, which a probe of the servers fills.

    Raises `UserError` for one that is not a neighbour.
    """
    table = _neighbours(client, ifname)
    for peer, endpoint in zip(peers, endpoints, strict=True):
        mac = table.get(endpoint.ip)
        if mac is None:
            raise UserError(
                f"{endpoint.ip} is not a neighbour on {ifname}",
                "AF_XDP needs servers on the same link; check the path with ping",
            )
        peer.peer.mac[:] = bytes.fromhex(mac.replace(":", ""))


def _neighbours(client: Endpoint, ifname: str) -> dict[str, str]:
    """Address -> MAC address."""
    inside = netns.entered(client.netns) if client.netns else contextlib.nullcontext()
    with inside, IPRoute() as ip:
        found = ip.link_lookup(ifname=ifname)
        if not found:
            raise UserError(f"there is no interface {ifname}", "see 'ip link'")
        entries = ip.get_neighbours(ifindex=found[0])
    table = {}
    for entry in entries:
        address, mac = entry.get_attr("NDA_DST"), entry.get_attr("NDA_LLADDR")
        if address and mac:
            table[str(address)] = str(mac)
    return table
