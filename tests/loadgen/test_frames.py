# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames that the af_xdp back end writes and reads, against scapy."""

from __future__ import annotations

import ctypes
import random

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from loadgen.native.io_structs import AlignedPeer
from loadgen.native.traffic_library import traffic_library
from loadgen.traffic.endpoints import Endpoint, native_peer

ROOM = 64
SOURCE_BYTES = 256
"""More than `struct lg_frame_source` has."""
MACS = (bytes.fromhex("020000000001"), bytes.fromhex("0200000000fe"))
HOSTS = {4: ("10.9.0.1", "10.9.255.254"), 6: ("fd00::1", "fd00:ffff::fffe")}


def peer(version: int, which: int, port: int) -> AlignedPeer:
    made = native_peer(Endpoint(HOSTS[version][which], port))
    made.peer.mac[:] = list(MACS[which])
    return made


def written(version: int, payload: bytes, from_port: int, to_port: int) -> bytes:
    """The frame around `payload`."""
    lib = traffic_library()
    source = (ctypes.c_uint8 * SOURCE_BYTES)()
    lib.lg_frame_source_init(source, ctypes.byref(peer(version, 0, from_port)))
    area = (ctypes.c_uint8 * (ROOM + len(payload)))(*([0xAA] * ROOM), *payload)
    lib.lg_frame_write(
        source,
        ctypes.byref(peer(version, 1, to_port)),
        ctypes.byref(area, ROOM),
        ctypes.c_uint32(len(payload)),
    )
    headers = {4: 42, 6: 62}[version]
    assert bytes(area)[: ROOM - headers] == b"\xaa" * (ROOM - headers)
    return bytes(area)[ROOM - headers :]


@pytest.mark.parametrize("version", [4, 6])
def test_every_length_has_the_headers_and_checksums_that_it_should(version: int) -> None:
    draw = random.Random(version)
    for length in [*range(0, 40), 84, 85, 148, 1471, 1472]:
        payload = draw.randbytes(length)
        ports = draw.randrange(1, 65536), draw.randrange(1, 65536)
        source, target = HOSTS[version]
        l3 = IP(src=source, dst=target, flags="DF", id=0) if version == 4 else IPv6(
            src=source, dst=target
        )  # fmt: skip
        expected = (
            Ether(src=MACS[0], dst=MACS[1]) / l3 / UDP(sport=ports[0], dport=ports[1]) / payload
        )
        assert written(version, payload, *ports) == bytes(expected), length


def test_a_sum_of_zero_is_sent_as_all_ones() -> None:
    """The payload whose complement is 0: 0 would say that there is no checksum."""
    bare = written(4, b"\0\0", 7, 9)
    frame = written(4, bare[40:42], 7, 9)
    assert frame[40:42] == b"\xff\xff"


def test_reading_gives_the_payload_and_its_sender() -> None:
    lib = traffic_library()
    lib.lg_frame_read.restype = ctypes.c_void_p
    for version in (4, 6):
        frame = written(version, b"payload", 1234, 1000)
        area = (ctypes.c_uint8 * len(frame))(*frame)
        length, sender = ctypes.c_uint32(), AlignedPeer()

        def read(size: int, port: int) -> int | None:
            at: int | None = lib.lg_frame_read(
                area,  # noqa: B023
                ctypes.c_uint32(size),
                ctypes.c_uint16(int.from_bytes(port.to_bytes(2, "big"), "little")),
                ctypes.byref(length),  # noqa: B023
                ctypes.byref(sender),  # noqa: B023
            )
            return at

        at = read(len(frame), 1000)
        assert at == ctypes.addressof(area) + len(frame) - 7
        assert length.value == 7
        assert bytes(sender) == bytes(peer(version, 0, 1234))
        assert read(len(frame), 1001) is None
        for cut in range(len(frame)):
            assert read(cut, 1000) is None, cut
