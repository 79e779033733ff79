# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An interface that cannot take NetClone as it is: a sentence, a hint, exit status 2, and nothing
changed."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from netclone_host.kernel import xdp, xdp_features
from netclone_host.kernel.xdp_features import XdpFeature

from .commands import SERVER, netclone_host
from .conftest import Namespace, run, without_tcx


def test_foreign_program(refused: Callable[..., None], host: str, not_ours: Path) -> None:
    run("ip", "link", "set", "dev", host, "xdpdrv", "obj", str(not_ours), "sec", "xdp")
    program = xdp.query(socket.if_nametoindex(host)).native_id
    refused(
        "attach", host, *SERVER,
        error=f'eth0 has an XDP program already: id {program} "foreign_xdp", native mode',
        hint="--force",
    )  # fmt: skip


def test_ingress_qdisc_in_the_way(
    refused: Callable[..., None], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_tcx(monkeypatch)
    run("tc", "qdisc", "add", "dev", host, "ingress")
    refused("attach", host, *SERVER, error="an ingress qdisc", hint="clsact")


def test_native_mode_unavailable(refused: Callable[..., None]) -> None:
    refused(
        "attach", "lo", *SERVER, "--mode", "native",
        error="native XDP is not available on lo: ",
        hint="--mode generic",
    )  # fmt: skip


def test_auto_falls_back_to_generic_and_says_so(namespace: Namespace) -> None:
    result = netclone_host("attach", "lo", *SERVER)
    assert result.exit_code == 0, result.output
    assert "generic XDP" in result.output
    assert "note: native XDP is not available on lo: " in result.output
    assert netclone_host("detach", "lo").exit_code == 0


def test_peer_mtu_too_large(refused: Callable[..., None], host: str) -> None:
    run("ip", "link", "set", "wire", "mtu", "9000")
    refused(
        "attach", host, *SERVER, "--mode", "native",
        error="Peer MTU is too large to set XDP",
        hint="lower the MTU of the veth's other end",
    )  # fmt: skip


def test_peer_that_cannot_receive_redirected_frames(
    refused: Callable[..., None],
    namespace: Namespace,
    switch_ports: list[str],
    topology_file: Path,
) -> None:
    run("ethtool", "-K", "p1-wire", "gro", "off")
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
        error="p1-wire, the other end of p1, cannot receive redirected frames",
        hint="ethtool -K p1-wire gro on",
    )  # fmt: skip


def test_driver_that_cannot_transmit_what_is_redirected_to_it(
    refused: Callable[..., None],
    switch_ports: list[str],
    topology_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """None that can be made here runs native XDP and cannot: a tap stands for one."""
    run("ip", "tuntap", "add", "mode", "tap", "tap0")
    assert features_of("p0") & XdpFeature.BASIC and features_of("lo") == 0
    assert XdpFeature.BASIC | XdpFeature.NDO_XMIT in features_of("tap0")
    monkeypatch.setattr(xdp_features, "of", lambda _ifindex: XdpFeature.BASIC)
    ports = (*switch_ports, "tap0")
    refused(
        "attach", *ports, "--role", "switch", "--topology", str(topology_file),
        error="the driver of tap0 cannot transmit redirected frames",
        hint="--mode generic",
    )  # fmt: skip
    assert (
        "tap0"
        not in netclone_host(
            "attach", *ports[:-1], "--role", "switch", "--topology", str(topology_file)
        ).stderr
    )
    assert netclone_host("detach", "p0").exit_code == 0


def features_of(ifname: str) -> XdpFeature:
    found = xdp_features.of(socket.if_nametoindex(ifname))
    assert found is not None
    return found


def test_a_switch_port_that_is_down_or_has_no_carrier_is_told(
    switch_ports: list[str], topology_file: Path
) -> None:
    run("ip", "link", "set", "p1", "down")
    run("ip", "link", "set", "p2-wire", "down")
    words = (*switch_ports, "--role", "switch", "--topology", str(topology_file))
    result = netclone_host("attach", *words)
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == [
        "warning: p1 is down, nothing leaves by it: ip link set p1 up",
        "warning: p2 has no carrier: is the other end up?",
    ]
    assert netclone_host("detach", "p0").exit_code == 0


def test_peer_in_another_namespace(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    other = f"{os.getpid()}-other"
    run("ip", "netns", "add", other)
    try:
        run("ip", "link", "set", "p2-wire", "netns", other)
        # Moving it took its link down and keeps its features.
        run("ip", "-n", other, "link", "set", "p2-wire", "up")
        run("ip", "netns", "exec", other, "ethtool", "-K", "p2-wire", "gro", "off")
        refused(
            "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
            error="p2-wire, the other end of p2, cannot receive",
            hint="gro on",
        )  # fmt: skip
        run("ip", "netns", "exec", other, "ethtool", "-K", "p2-wire", "gro", "on")
        words = (*switch_ports, "--role", "switch", "--topology", str(topology_file))
        assert netclone_host("attach", *words).exit_code == 0
        assert netclone_host("detach", "p0").exit_code == 0
    finally:
        run("ip", "netns", "del", other)
