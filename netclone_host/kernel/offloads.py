# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""VLAN tags that travel beside a frame, not in it: native XDP does not see them, and what it
redirects goes without.

A card takes the tag off when it receives (rx-vlan-offload). A veth hands over what its other end
has sent, and that end leaves the tag beside the frame if it has tx-vlan-offload; the
rx-vlan-offload of a veth changes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyroute2.ethtool.ioctl import IoctlEthtool, NotSupportedError

from netclone_host.kernel import interfaces
from netclone_host.kernel.interfaces import Interface

_AT_A_CARD = ("rx-vlan-hw-parse", "rx-vlan-stag-hw-parse")
_AT_A_PEER = ("tx-vlan-hw-insert", "tx-vlan-stag-hw-insert")


@dataclass(frozen=True)
class TagOffloads:
    """Those that are on and keep tags from an interface's XDP program."""

    changeable: list[str]
    fixed: list[str]
    """The driver does not let them be switched off."""


def of_tags(interface: Interface) -> TagOffloads | None:
    """None if the other end of a veth, which has them, cannot be looked at."""
    with _owner(interface) as (ethtool, names):
        if ethtool is None:
            return None
        try:
            features = ethtool.get_features()
        except NotSupportedError:
            return TagOffloads([], [])
        active = {str(name) for name, value, *_ in features if value}
        on = [name for name in names if name in active]
        return TagOffloads(
            [name for name in on if features.is_available(name)],
            [name for name in on if not features.is_available(name)],
        )


def switch(interface: Interface, names: Sequence[str], *, on: bool) -> None:
    """Switch offloads that `of_tags` named; nothing where the other end is out of reach by now."""
    with _owner(interface) as (ethtool, _):
        if ethtool is None:
            return
        features = ethtool.get_features()
        for name in names:
            features[name] = on
        ethtool.set_features(features)


@contextlib.contextmanager
def _owner(interface: Interface) -> Iterator[tuple[IoctlEthtool | None, tuple[str, ...]]]:
    """Whose offloads they are, and the names that they have there."""
    if not interface.peer_ifindex:
        with contextlib.closing(IoctlEthtool(interface.name)) as ethtool:
            yield ethtool, _AT_A_CARD
        return
    with interfaces.at_peer(interface) as name:
        if name is None:
            yield None, ()
            return
        with contextlib.closing(IoctlEthtool(name)) as ethtool:
            yield ethtool, _AT_A_PEER
