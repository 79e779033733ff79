# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Links, addresses and neighbour entries of a rack. Each function works inside one namespace,
through a netlink socket that was opened there."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.ethtool.ioctl import IoctlEthtool
from pyroute2.netlink.exceptions import NetlinkError

from netclone_host.kernel import netns
from netclone_host.rack.plan import BRIDGE, NODE_LINK, TRUNK, Node, Plan, SwitchNode

MTU = 1500
_NUD_PERMANENT = 0x80
_IFA_F_NODAD = 0x02

# With these, a veth pair keeps VLAN tags outside the frame, where native XDP cannot see them.
_VLAN_OFFLOADS = (
    "tx-vlan-hw-insert",
    "rx-vlan-hw-parse",
    "tx-vlan-stag-hw-insert",
    "rx-vlan-stag-hw-parse",
)
# A veth end receives redirected frames only while its own side runs NAPI.
_GRO = "rx-gro"


def open_in(namespace: str) -> IPRoute:
    """A netlink socket of the namespace, usable from anywhere; the caller closes it."""
    with netns.entered(namespace):
        return IPRoute()


def prepare_switch(switch: SwitchNode) -> None:
    """Make the bridge for packets that the switch program leaves to Linux."""
    # The switch is no IPv6 host; ports take this setting when they appear.
    _sysctl(switch.netns, "net/ipv6/conf/default/disable_ipv6", 1)
    _sysctl(switch.netns, "net/ipv6/conf/all/disable_ipv6", 1)
    with open_in(switch.netns) as ip:
        ip.link("set", index=1, state="up")
        ip.link(
            "add",
            ifname=BRIDGE,
            kind="bridge",
            address=switch.mac,
            mtu=MTU,
            br_stp_state=0,
            br_forward_delay=0,
            # Snooping without a querier would lose neighbour discovery after a while.
            br_mcast_snooping=0,
        )
        ip.link("set", index=_index(ip, BRIDGE), state="up")


def connect_node(plan: Plan, node: Node, switch: SwitchNode) -> None:
    """Veth pair from a node to its switch port, with the node's addresses."""
    _sysctl(node.netns, "net/ipv6/conf/default/accept_dad", 0)
    _sysctl(node.netns, "net/ipv6/conf/default/accept_ra", 0)
    _add_pair(switch.netns, node.port, node.netns, NODE_LINK, peer_mac=node.mac)
    enslave(switch.netns, node.port)
    with open_in(node.netns) as ip:
        ip.link("set", index=1, state="up")
        ip.link("set", index=_index(ip, NODE_LINK), state="up")
    _give_addresses(plan, node, NODE_LINK)


def _give_addresses(plan: Plan, node: Node, link: str) -> None:
    with open_in(node.netns) as ip:
        index = _index(ip, link)
        if node.ip4 is not None:
            ip.addr("add", index=index, address=str(node.ip4), prefixlen=plan.prefix4)
        if node.ip6 is not None:
            ip.addr(
                "add",
                index=index,
                address=str(node.ip6),
                prefixlen=plan.prefix6,
                family=socket.AF_INET6,
                flags=_IFA_F_NODAD,
            )


def connect_switches(first: SwitchNode, second: SwitchNode) -> None:
    """Trunk between the two switches of a rack pair."""
    _add_pair(first.netns, TRUNK, second.netns, TRUNK, peer_mac=None)
    enslave(first.netns, TRUNK)
    enslave(second.netns, TRUNK)


def move_to_vlan(plan: Plan, node: Node, vlan_id: int) -> None:
    """Make a host one of a VLAN: its addresses move from `eth0` to a tagged sub-interface."""
    link = f"{NODE_LINK}.{vlan_id}"
    with open_in(node.netns) as ip:
        index = _index(ip, NODE_LINK)
        ip.link("add", ifname=link, kind="vlan", link=index, vlan_id=vlan_id)
        ip.flush_addr(index=index)
        ip.link("set", index=_index(ip, link), state="up")
    _give_addresses(plan, node, link)


def enslave(namespace: str, link: str) -> None:
    """Make a link a port of the switch's bridge."""
    with open_in(namespace) as ip:
        ip.link("set", index=_index(ip, link), master=_index(ip, BRIDGE), state="up")


def dissolve_bridge(namespace: str, ports: Iterable[str]) -> None:
    """Hand the links to a switch that does all the forwarding itself."""
    with open_in(namespace) as ip:
        for link in ports:
            ip.link("set", index=_index(ip, link), master=0)
        ip.link("del", index=_index(ip, BRIDGE))


def introduce(node: Node, others: Iterable[Node]) -> None:
    """Add permanent neighbour entries, so that no measurement waits for address resolution.

    Responses come from whichever server was faster, so nothing would confirm the entry of the
    server that the client addressed.
    """
    with open_in(node.netns) as ip:
        index = _index(ip, NODE_LINK)
        for other in others:
            for address in (other.ip4, other.ip6):
                if _reachable(node, address):
                    ip.neigh(
                        "replace",
                        dst=str(address),
                        lladdr=other.mac,
                        ifindex=index,
                        state=_NUD_PERMANENT,
                    )


def _reachable(node: Node, address: IPv4Address | IPv6Address | None) -> bool:
    if isinstance(address, IPv4Address):
        return node.ip4 is not None
    return address is not None and node.ip6 is not None


def set_features(namespace: str, link: str, wanted: dict[str, bool]) -> None:
    """Switch offloads of a link (names as the kernel has them) on or off."""
    with _ethtool(namespace, link) as ethtool:
        current = ethtool.get_features()
        for name, enable in wanted.items():
            current[name] = enable
        ethtool.set_features(current)


def features(namespace: str, link: str) -> dict[str, bool]:
    """Which offloads of a link are on."""
    with _ethtool(namespace, link) as ethtool:
        return {str(name): bool(value) for name, value, *_ in ethtool.get_features()}


@contextmanager
def _ethtool(namespace: str, link: str) -> Iterator[IoctlEthtool]:
    with netns.entered(namespace):
        ethtool = IoctlEthtool(link)
    try:
        yield ethtool
    finally:
        ethtool.close()


def _add_pair(namespace: str, link: str, peer_ns: str, peer: str, peer_mac: str | None) -> None:
    with open_in(namespace) as ip, netns.path_of(peer_ns).open() as peer_file:
        peer_options = {"ifname": peer, "net_ns_fd": peer_file.fileno(), "mtu": MTU}
        if peer_mac is not None:
            peer_options["address"] = peer_mac
        ip.link("add", ifname=link, kind="veth", mtu=MTU, peer=peer_options)
    for end_ns, end in ((namespace, link), (peer_ns, peer)):
        set_features(end_ns, end, {**dict.fromkeys(_VLAN_OFFLOADS, False), _GRO: True})


def _index(ip: IPRoute, link: str) -> int:
    return int(ip.link_lookup(ifname=link)[0])


def _sysctl(namespace: str, name: str, value: int) -> None:
    path = Path("/proc/sys") / name
    with netns.entered(namespace):
        # A kernel without IPv6 has no such entry.
        if path.exists():
            path.write_text(f"{value}\n", encoding="ascii")


def delete_pairs(namespace: str) -> None:
    """Delete the veth links of a namespace, and with them their other ends."""
    with open_in(namespace) as ip:
        for link in ip.get_links():
            info = link.get_attr("IFLA_LINKINFO")
            if info is not None and info.get_attr("IFLA_INFO_KIND") == "veth":
                try:
                    ip.link("del", index=link["index"])
                except NetlinkError as error:
                    # It has vanished with the namespace of its other end.
                    if error.code != errno.ENODEV:
                        raise
