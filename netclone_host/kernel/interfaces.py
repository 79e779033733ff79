# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Network interfaces of the current namespace."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import fcntl
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from netclone_host.errors import UserError
from netclone_host.kernel import netns, xdp

MAX_NAME = 15  # IFNAMSIZ - 1
_IFF_UP, _IFF_LOWER_UP = 1 << 0, 1 << 16
_SIOCETHTOOL = 0x8946
_ETHTOOL_GGRO = 0x2B


@dataclass(frozen=True)
class Interface:
    name: str
    ifindex: int
    mtu: int
    kind: str
    """"veth", "bridge", ...; empty for hardware."""
    peer_ifindex: int
    """Other end of a veth; 0 if there is none."""
    peer_nsid: int | None
    """Namespace id of the other end; None if it is in this one."""
    is_up: bool
    """As it was set (`ip link set IFACE up`)."""
    has_carrier: bool


def _of(link: Any) -> Interface:
    info = link.get_attr("IFLA_LINKINFO")
    kind = info.get_attr("IFLA_INFO_KIND") if info is not None else None
    return Interface(
        name=link.get_attr("IFLA_IFNAME"),
        ifindex=link["index"],
        mtu=link.get_attr("IFLA_MTU"),
        kind=kind or "",
        peer_ifindex=(link.get_attr("IFLA_LINK") or 0) if kind == "veth" else 0,
        peer_nsid=link.get_attr("IFLA_LINK_NETNSID"),
        is_up=bool(link["flags"] & _IFF_UP),
        has_carrier=bool(link["flags"] & _IFF_LOWER_UP),
    )


@dataclass(frozen=True)
class LinkAddresses:
    mac: bytes
    """All 0 where the link has none."""
    addresses: tuple[IPv4Address | IPv6Address, ...]
    has_master: bool
    """It is a port of a bridge or bond."""


def addresses(ifindex: int) -> LinkAddresses:
    with IPRoute() as route:
        link = route.get_links(ifindex)[0]
        found = [entry.get_attr("IFA_ADDRESS") for entry in route.get_addr(index=ifindex)]
    mac = bytes.fromhex((link.get_attr("IFLA_ADDRESS") or "").replace(":", ""))
    return LinkAddresses(
        mac if len(mac) == 6 else bytes(6),
        tuple(ip_address(address) for address in found),
        bool(link.get_attr("IFLA_MASTER")),
    )


_BEYOND_MTU = 18  # an Ethernet header and a VLAN tag, which no MTU counts


def mtus() -> dict[int, int]:
    """Index -> MTU of every interface."""
    with IPRoute() as route:
        return {link["index"]: link.get_attr("IFLA_MTU") for link in route.get_links()}


def longest_frame(mtus: Mapping[int, int], ifindex: int) -> int:
    """Bytes that the kernel redirects to this interface at the most; 0: not known."""
    mtu = mtus.get(ifindex, 0)
    return min(mtu + _BEYOND_MTU, 0xFFFF) if mtu else 0


def indices() -> dict[str, int]:
    """Name -> index of every interface."""
    return {name: index for index, name in socket.if_nameindex()}


def find(names: Sequence[str]) -> list[Interface]:
    """The interfaces of these names, in order. UserError if one does not exist, or cannot."""
    for name in names:
        _check_name(name)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise UserError(f"interface {repeated} is named twice", hint="name each port once")
    known = indices()
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            raise UserError(
                f"there is no interface {name} in this network namespace",
                hint=f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}",
            )
    with IPRoute() as route:
        return [_of(route.get_links(known[name])[0]) for name in names]


def _check_name(name: str) -> None:
    length = len(os.fsencode(name))
    if length > MAX_NAME:
        raise UserError(
            f"the interface name {name} has {length} characters, and Linux allows {MAX_NAME}",
            hint="'ip link' lists the interfaces",
        )
    if not name or "/" in name or name in (".", "..") or any(char.isspace() for char in name):
        raise UserError(f"{name!r} is no interface name", hint="'ip link' lists the interfaces")


def all_here() -> list[Interface]:
    """Every interface of this namespace."""
    with IPRoute() as route:
        return [_of(link) for link in route.get_links()]


def by_index(ifindex: int) -> Interface:
    """The interface of this index, which there must be."""
    with IPRoute() as route:
        return _of(route.get_links(ifindex)[0])


@contextlib.contextmanager
def at_peer(interface: Interface) -> Iterator[str | None]:
    """The name of a veth's other end, whose namespace the calling thread is in meanwhile; None if
    no path leads there."""
    with _peer_namespace(interface) as there:
        yield socket.if_indextoname(interface.peer_ifindex) if there else None


@contextlib.contextmanager
def _peer_namespace(interface: Interface) -> Iterator[bool]:
    """Enter the namespace of a veth's other end; yields False if no path leads there."""
    if interface.peer_nsid is None:
        yield True
        return
    path = _namespace_path(interface.peer_nsid)
    if path is None:
        yield False
        return
    with netns.entered(path):
        yield True


def _namespace_path(nsid: int) -> Path | None:
    """A file of the namespace that this one knows by an id: named ones first, then those
    that some process is in."""
    for path in [*netns.NAMED.glob("*"), *Path("/proc").glob("[0-9]*/ns/net")]:
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if netns.id_here(fd) == nsid:
                    return path
            finally:
                os.close(fd)
    return None


def peer(interface: Interface) -> Interface | None:
    """The other end of a veth; None if it is out of reach."""
    if not interface.peer_ifindex:
        return None
    with _peer_namespace(interface) as there:
        if not there:
            return None
        with IPRoute() as route:
            for link in route.get_links(interface.peer_ifindex):
                return _of(link)
    return None


def peer_has_gro(interface: Interface) -> bool | None:
    """Whether generic receive offload is on at the other end; None if that is unknown."""
    with at_peer(interface) as name:
        return None if name is None else gro_enabled(name)


def gro_enabled(name: str) -> bool:
    """Whether generic receive offload is on at an interface of this namespace."""
    value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_GGRO, 0))
    ifreq = struct.pack("16sP8x", name.encode(), ctypes.addressof(value))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        fcntl.ioctl(channel, _SIOCETHTOOL, ifreq)
    return bool(struct.unpack_from("II", value)[1])


def peer_has_xdp(interface: Interface) -> bool:
    """Whether the other end of a veth has an XDP program in native mode."""
    with _peer_namespace(interface) as there:
        return there and xdp.query(interface.peer_ifindex).native_id != 0
