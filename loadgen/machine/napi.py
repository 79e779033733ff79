# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where and when an interface's receive processing (NAPI) runs, for benchmarks and experiments.

Threaded, it runs in kernel threads, which can be kept off the core of the measured program as the
interrupts of a network card can.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from pyroute2.netlink import NLM_F_DUMP, NLM_F_REQUEST, genlmsg
from pyroute2.netlink.generic import GenericNetlinkSocket

from netclone_host.kernel import netns

_NAPI_GET = 11
"""NETDEV_CMD_NAPI_GET of the generic netlink family `netdev` (kernel 6.7)."""


class _Napi(genlmsg):  # type: ignore[misc]
    prefix = "NETDEV_A_NAPI_"
    nla_map = (
        ("NETDEV_A_NAPI_UNSPEC", "none"),
        ("NETDEV_A_NAPI_IFINDEX", "uint32"),
        ("NETDEV_A_NAPI_ID", "uint32"),
        ("NETDEV_A_NAPI_IRQ", "uint32"),
        ("NETDEV_A_NAPI_PID", "uint32"),
    )


def _threads(ifname: str) -> list[int]:
    """Process ids of the interface's NAPI threads, in this thread's network namespace."""
    request = _Napi()
    request["cmd"] = _NAPI_GET
    request["version"] = 1
    request["attrs"] = [("NETDEV_A_NAPI_IFINDEX", socket.if_nametoindex(ifname))]
    with GenericNetlinkSocket() as family:
        family.bind("netdev", _Napi)
        found = family.nlm_request(
            request, msg_type=family.prid, msg_flags=NLM_F_REQUEST | NLM_F_DUMP
        )
        pids = [napi.get_attr("NETDEV_A_NAPI_PID") for napi in found]
    return [pid for pid in pids if pid]


def set_attribute(namespace: Path, ifname: str, name: str, value: int) -> None:
    """Writes an attribute of the interface in /sys/class/net. Raises `CalledProcessError`."""
    script = f"echo {value} > /sys/class/net/{ifname}/{name}"
    # `ip netns exec`, because /sys shows the interfaces of the namespace that mounted it.
    subprocess.run(["ip", "netns", "exec", namespace.name, "sh", "-c", script], check=True)


def run_on_core(namespace: Path, ifname: str, core: int) -> None:
    """Receive processing in threads on `core`, ahead of everything ordinary there, as an
    interrupt would be; until the interface is removed. Raises OSError."""
    set_attribute(namespace, ifname, "threaded", 1)
    with netns.entered(namespace):
        pids = _threads(ifname)
    for pid in pids:
        os.sched_setaffinity(pid, {core})
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))


def coalesce(namespace: Path, ifname: str, time_ns: int) -> None:
    """The interface is polled `time_ns` after a packet instead of at each; 0: at once."""
    set_attribute(namespace, ifname, "gro_flush_timeout", time_ns)
    set_attribute(namespace, ifname, "napi_defer_hard_irqs", 1000 if time_ns else 0)
