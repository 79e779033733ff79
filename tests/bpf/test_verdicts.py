# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every verdict of every program, by BPF_PROG_TEST_RUN: the packet that comes out, and the
counter. (The devmap program is not for BPF_PROG_TEST_RUN; tests/conformance plays it on veths.)"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from netclone_host.attach import tables
from netclone_host.attach.roles import Role
from netclone_host.attach.tables import StateSource
from netclone_host.counters import Hook
from netclone_host.kernel.testrun import TcAction, XdpAction
from netclone_host.wire import Clo, Flag, Header, Type

from .frames import (
    CLIENT_IP,
    SERVER_IP,
    SERVER_IP6,
    SERVER_MAC,
    Programs,
    checksums_are_right,
    frame,
    header_of,
    map_of,
    programs,
    without_header,
)

IN, OUT = Hook.INGRESS, Hook.EGRESS
REQUEST = Header(grp=1, idx=1)
RESPONSE = Header(type=Type.RESP, req_id=77, grp=1, idx=1)
FORMS = pytest.mark.parametrize(
    "form",
    [{}, {"ip6": True}, {"vlans": (7,)}, {"vlans": (7, 8), "ip6": True}],
    ids=["IPv4", "IPv6", "VLAN", "QinQ over IPv6"],
)


@pytest.fixture
def server() -> Iterator[Programs]:
    with programs(Role.SERVER) as loaded:
        yield loaded


@pytest.fixture
def client() -> Iterator[Programs]:
    with programs(Role.CLIENT) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def loaded_switch(own_namespace: object) -> Iterator[Programs]:
    with programs(Role.SWITCH) as loaded:
        yield loaded


@pytest.fixture
def switch(loaded_switch: Programs) -> Programs:
    loaded_switch.reset()
    return loaded_switch


# ---- server ----


@FORMS
def test_server_admits_and_drops(server: Programs, form: dict[str, object]) -> None:
    """One worker: the second request in flight waits, and from then on clones are dropped;
    a cloned request's original never is."""
    clone = frame(REQUEST.replace(req_id=1, clo=Clo.CLONE), **form)
    first = frame(REQUEST.replace(req_id=2), **form)
    original = frame(REQUEST.replace(req_id=3, clo=Clo.ORIGINAL), **form)
    late_clone = frame(REQUEST.replace(req_id=4, clo=Clo.CLONE), **form)
    for data, verdict, reason in (
        (clone, XdpAction.PASS, "clone_admitted"),
        (first, XdpAction.PASS, "request_admitted"),
        (late_clone, XdpAction.DROP, "dropped_server_busy"),
        (original, XdpAction.PASS, "request_admitted"),
        (late_clone, XdpAction.DROP, "dropped_server_busy"),
    ):
        result, counted = server.run(IN, data)
        assert (result.retval, counted) == (verdict, {reason: 1})
        assert result.data_out == data


@FORMS
def test_server_stamps_responses(server: Programs, form: dict[str, object]) -> None:
    for req_id in (1, 2, 3, 4):
        server.run(IN, frame(REQUEST.replace(req_id=req_id), **form))
    answer = frame(RESPONSE.replace(req_id=2, clo=Clo.CLONE), to_server=False, **form)
    result, counted = server.run(OUT, answer)
    assert result.retval in (TcAction.OK, TcAction.UNSPEC)
    assert counted == {"response_stamped": 1}
    # Three are left, one of them with the worker.
    assert header_of(result.data_out) == header_of(answer).replace(sid=1, state=2)
    assert without_header(result.data_out)[1] == without_header(answer)[1]
    assert checksums_are_right(result.data_out)


def test_server_without_a_udp_checksum_keeps_none(server: Programs) -> None:
    answer = frame(RESPONSE, to_server=False, chksum=0)
    result, _ = server.run(OUT, answer)
    assert Ether(result.data_out)[UDP].chksum == 0
    assert header_of(result.data_out).sid == 1


def test_server_count_is_never_negative(server: Programs) -> None:
    answer = frame(RESPONSE, to_server=False)
    for _ in range(3):
        assert header_of(server.run(OUT, answer)[0].data_out).state == 0
    clone = frame(REQUEST.replace(req_id=5, clo=Clo.CLONE))
    assert server.run(IN, clone)[1] == {"clone_admitted": 1}


def test_server_counts_a_request_once(server: Programs) -> None:
    for _ in range(5):
        server.run(IN, frame(REQUEST.replace(req_id=9)))
    assert (
        tables.Slices.from_buffer_copy(map_of(server, "nc_slices").lookup(0) or b"").in_flight()
        == 1
    )


def test_server_forgets_what_is_never_answered() -> None:
    """A lost packet does not leave the server busy for ever."""
    timeout_ns = 100_000_000
    with programs(Role.SERVER, request_timeout_ns=timeout_ns) as server:
        for req_id in (1, 2, 3):
            server.run(IN, frame(REQUEST.replace(req_id=req_id)))
        clone = frame(REQUEST.replace(req_id=4, clo=Clo.CLONE))
        assert server.run(IN, clone)[1] == {"dropped_server_busy": 1}
        deadline = time.monotonic() + 20 * timeout_ns / 1e9
        while server.run(IN, clone)[1] != {"clone_admitted": 1}:
            assert time.monotonic() < deadline, "still busy"
            time.sleep(0.02)


def test_server_asks_the_application() -> None:
    clone = frame(REQUEST.replace(req_id=4, clo=Clo.CLONE))
    with programs(Role.SERVER, state=StateSource.APP) as server:
        for length, reason in ((0, "clone_admitted"), (2, "dropped_server_busy")):
            server.put("nc_app_state", 0, length)
            assert server.run(IN, clone)[1] == {reason: 1}
            answer = frame(RESPONSE, to_server=False)
            assert header_of(server.run(OUT, answer)[0].data_out).state == length


def test_server_leaves_the_other_direction_alone(server: Programs) -> None:
    response, request = frame(RESPONSE, to_server=False), frame(REQUEST)
    for hook, data in ((IN, response), (OUT, request)):
        result, counted = server.run(hook, data)
        assert (result.data_out, counted) == (data, {"other_direction": 1})


# ---- client ----


@FORMS
def test_client_fills_in_group_and_table(client: Programs, form: dict[str, object]) -> None:
    blank = frame(Header(), **form)
    seen = set()
    for _ in range(64):
        result, counted = client.run(OUT, blank)
        assert counted == {"request_stamped": 1}
        header = header_of(result.data_out)
        assert header == Header(grp=header.grp, idx=header.idx)
        assert checksums_are_right(result.data_out)
        seen.add((header.grp, header.idx))
    # Two servers, two filter tables: all four are drawn (missing one: 4 * 0.75^64).
    assert seen == {(grp, idx) for grp in (1, 2) for idx in (0, 1)}


def test_client_leaves_a_group_that_is_set(client: Programs) -> None:
    data = frame(REQUEST.replace(grp=2))
    result, counted = client.run(OUT, data)
    assert (result.data_out, counted) == (data, {"request_passed": 1})


def test_client_sends_all_packets_of_a_request_the_same_way(client: Programs) -> None:
    chosen = set()
    for index in range(8):
        blank = Header(flags=Flag.CLIENT_ID_VALID, client_id=9, req_id=5, pkt_index=index)
        data = frame(blank.replace(pkt_count=8))
        header = header_of(client.run(OUT, data)[0].data_out)
        chosen.add((header.grp, header.idx))
    assert len(chosen) == 1


@FORMS
def test_client_takes_one_response(client: Programs, form: dict[str, object]) -> None:
    data = frame(RESPONSE.replace(clo=Clo.ORIGINAL), to_server=False, **form)
    other = frame(RESPONSE.replace(clo=Clo.CLONE), to_server=False, **form)
    for packet, verdict, reason in (
        (data, XdpAction.PASS, "response_delivered"),
        (other, XdpAction.DROP, "dropped_already_answered"),
        (data, XdpAction.DROP, "dropped_already_answered"),
    ):
        result, counted = client.run(IN, packet)
        assert (result.retval, counted) == (verdict, {reason: 1})
        assert result.data_out == packet


def test_client_never_drops_what_was_not_cloned(client: Programs) -> None:
    for header in (RESPONSE, RESPONSE.replace(clo=Clo.ORIGINAL, req_id=0)):
        for _ in range(2):
            result, counted = client.run(IN, frame(header, to_server=False))
            assert (result.retval, counted) == (XdpAction.PASS, {"response_delivered": 1})


# ---- switch ----


@FORMS
def test_switch_clones_when_both_are_idle(switch: Programs, form: dict[str, object]) -> None:
    before = switch.get("nc_sequence", 0)
    data = frame(REQUEST.replace(grp=2), **form)
    result, counted = switch.run(IN, data)
    assert (result.retval, counted) == (XdpAction.REDIRECT, {"cloned": 1})
    header = header_of(result.data_out)
    assert header == REQUEST.replace(grp=2, req_id=header.req_id, clo=Clo.ORIGINAL, sid=0)
    assert header.req_id == (before + 1) % 2**32 or before % 2**32 == 2**32 - 1
    assert_readdressed(result.data_out, 1)


def assert_readdressed(data: bytes, server: int) -> None:
    packet = Ether(data)
    assert packet.dst == SERVER_MAC[server]
    if IPv6 in packet:
        assert packet[IPv6].dst == SERVER_IP6[server]
    else:
        assert packet[IP].dst == SERVER_IP[server] and packet[IP].src == CLIENT_IP
    assert checksums_are_right(data)


@pytest.mark.parametrize(("states", "server"), [((0, 3), 0), ((3, 0), 0), ((5, 3), 0)], ids=str)
def test_switch_sends_to_the_first_candidate(
    switch: Programs, states: tuple[int, int], server: int
) -> None:
    for sid, length in enumerate(states):
        switch.put("nc_state", sid, length)
    result, counted = switch.run(IN, frame(REQUEST))
    assert (result.retval, counted) == (XdpAction.REDIRECT, {"not_cloned": 1})
    assert header_of(result.data_out).clo == Clo.NONE
    assert_readdressed(result.data_out, server)


def test_switch_never_gives_id_0(switch: Programs) -> None:
    switch.put("nc_sequence", 0, 0xFFFFFFFE)
    ids = [header_of(switch.run(IN, frame(REQUEST))[0].data_out).req_id for _ in range(3)]
    assert ids == [0xFFFFFFFF, 1, 2]


def test_switch_leaves_a_write_where_it_goes(switch: Programs) -> None:
    data = frame(REQUEST.replace(flags=Flag.NO_CLONE), server=1)
    result, counted = switch.run(IN, data)
    assert (result.retval, counted) == (XdpAction.REDIRECT, {"no_clone": 1})
    assert_readdressed(result.data_out, 1)


@FORMS
def test_switch_filters_the_slower_response(switch: Programs, form: dict[str, object]) -> None:
    """Forwarding itself needs the client's port, which its request has taught (but for
    tagged frames: those go by Linux)."""
    switch.run(IN, frame(REQUEST, **form), port="p2")
    faster = frame(
        RESPONSE.replace(clo=Clo.CLONE, sid=1, state=2), server=1, to_server=False, **form
    )
    slower = frame(RESPONSE.replace(clo=Clo.ORIGINAL), to_server=False, **form)
    forwarded = XdpAction.PASS if "vlans" in form else XdpAction.REDIRECT
    for data, port, verdict, reason in (
        (faster, "p1", forwarded, "response_first_clone"),
        (slower, "p0", XdpAction.DROP, "filtered_slower_response"),
        (slower, "p0", forwarded, "response_first_original"),  # the slot is free again
    ):
        result, counted = switch.run(IN, data, port=port)
        assert (result.retval, counted) == (verdict, {reason: 1})
        assert result.data_out == data
    assert [switch.get("nc_state", sid) for sid in (0, 1)] == [0, 2]


def test_switch_forwards_what_was_not_cloned(switch: Programs) -> None:
    switch.run(IN, frame(REQUEST), port="p2")
    data = frame(RESPONSE.replace(state=6), to_server=False)
    for _ in range(2):
        result, counted = switch.run(IN, data, port="p0")
        assert (result.retval, counted) == (XdpAction.REDIRECT, {"response_forwarded": 1})
    assert switch.get("nc_state", 0) == 6


def test_switch_passes_a_response_to_a_port_that_has_gone(switch: Programs) -> None:
    """A first response is never dropped: Linux may know a way."""
    switch.run(IN, frame(REQUEST), port="lo")
    data = frame(RESPONSE, to_server=False)
    result, counted = switch.run(IN, data, port="p0")
    assert (result.retval, counted) == (XdpAction.PASS, {"response_forwarded": 1})


def test_switch_passes_a_response_to_an_unknown_station(switch: Programs) -> None:
    data = frame(RESPONSE, to_server=False)
    result, counted = switch.run(IN, data, port="p0")
    assert (result.retval, counted) == (XdpAction.PASS, {"response_forwarded": 1})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"switch_id": 9}, "foreign_switch"),
        ({"grp": 3}, "bad_group"),
    ],
    ids=str,
)
def test_switch_passes_what_is_not_its_own(
    switch: Programs, change: dict[str, int], reason: str
) -> None:
    data = frame(REQUEST.replace(**change))
    result, counted = switch.run(IN, data)
    assert (result.retval, result.data_out) == (XdpAction.PASS, data)
    assert counted == {reason: 1}


@pytest.mark.parametrize("clo", [Clo.ORIGINAL, Clo.CLONE])
def test_switch_drops_clones_from_outside(switch: Programs, clo: Clo) -> None:
    result, counted = switch.run(IN, frame(REQUEST.replace(clo=clo)))
    assert (result.retval, counted) == (XdpAction.DROP, {"already_cloned": 1})


def test_switch_passes_when_no_candidate_is_usable(switch: Programs) -> None:
    for sid in (0, 1):
        map_of(switch, "nc_servers").update(sid, tables.Server())
    data = frame(REQUEST)
    result, counted = switch.run(IN, data)
    assert (result.retval, result.data_out) == (XdpAction.PASS, data)
    assert counted == {"unknown_port": 1}


def test_counters_add_up_over_repetitions(switch: Programs) -> None:
    before = sum(switch.counts(IN).values())
    for data in (frame(REQUEST), frame(RESPONSE, to_server=False), bytes(60), frame(b"short")):
        switch.run(IN, data, repeat=250)
    assert sum(switch.counts(IN).values()) - before == 1000
