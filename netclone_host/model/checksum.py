# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Internet checksums of rewritten packets, section Checksums of docs/data-plane.md."""

from __future__ import annotations

from netclone_host.model.packet import UDP, Packet


def words(data: bytes) -> list[int]:
    padded = data + b"\0" * (len(data) % 2)
    return [int.from_bytes(padded[i : i + 2], "big") for i in range(0, len(padded), 2)]


def fold(total: int) -> int:
    """One's complement sum; 0 only if every term was 0."""
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def updated(checksum: int, before: bytes, after: bytes) -> int:
    """RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). Never 0xffff: a sum of 0 needs 0s only."""
    old = sum(word ^ 0xFFFF for word in words(before))
    return fold((checksum ^ 0xFFFF) + old + sum(words(after))) ^ 0xFFFF


def _field(p: Packet) -> int:
    return p.l4 + (6 if p.protocol == UDP else 16)


def _pseudo_header(p: Packet) -> bytes:
    length = p.end - p.l4
    return p.source + p.destination + p.protocol.to_bytes(4, "big") + length.to_bytes(4, "big")


def _covered(p: Packet) -> bytes:
    """What the L4 checksum covers, its own field left out (as 0)."""
    l4 = bytearray(p.frame[p.l4 : p.end])
    at = _field(p) - p.l4
    l4[at : at + 2] = b"\0\0"
    return _pseudo_header(p) + bytes(l4)


def l4_checksum(p: Packet) -> int:
    at = _field(p)
    return int.from_bytes(p.frame[at : at + 2], "big")


def is_partial(p: Packet) -> bool:
    """By value: only the pseudo header is summed (transmit checksum offload)."""
    return l4_checksum(p) == fold(sum(words(_pseudo_header(p))))


def is_correct(p: Packet) -> bool:
    return fold(sum(words(_covered(p))) + l4_checksum(p)) == 0xFFFF


def has_none(p: Packet) -> bool:
    """UDP over IPv4 may go without."""
    return p.protocol == UDP and not p.ipv6 and l4_checksum(p) == 0


def lacks_checksum(p: Packet) -> bool:
    """UDP over IPv6 may not."""
    return p.protocol == UDP and p.ipv6 and l4_checksum(p) == 0


def seal(
    before: Packet, after: Packet, partial: bool, mark_survives: bool, addressed: bool = True
) -> None:
    """Write the checksums of `after`, which is `before` rewritten.

    addressed: the IP header is, too; else it is left alone, with whatever sum it came with.

    partial: `before` carries only a partial sum. mark_survives: so may `after`, because
    the mark that has a device complete it is not lost (generic mode, a host's egress).
    """
    if addressed and not before.ipv6:
        at = before.ip + 10
        old = int.from_bytes(before.frame[at : at + 2], "big")
        rest = slice(before.ip, at), slice(at + 2, before.l4)
        new = updated(
            old,
            bytes(before.frame[rest[0]] + before.frame[rest[1]]),
            bytes(after.frame[rest[0]] + after.frame[rest[1]]),
        )
        after.frame[at : at + 2] = new.to_bytes(2, "big")

    if has_none(before):
        return
    if partial and mark_survives:
        new = fold(sum(words(_pseudo_header(after))))
    elif partial or lacks_checksum(before):
        complete(after)
        return
    else:
        new = updated(l4_checksum(before), _covered(before), _covered(after))
    _write(after, new)


def complete(p: Packet) -> None:
    """Compute the L4 checksum in full."""
    _write(p, fold(sum(words(_covered(p)))) ^ 0xFFFF)


def _write(p: Packet, checksum: int) -> None:
    if checksum == 0 and p.protocol == UDP:
        checksum = 0xFFFF
    p.frame[_field(p) : _field(p) + 2] = checksum.to_bytes(2, "big")


def seal_at_egress(before: Packet, after: Packet, offloaded: bool) -> None:
    """On a host's way out the kernel knows what the sum is: a partial one (`offloaded`)
    does not cover the header, and a socket that sends without one (UDP only) wants none."""
    if not offloaded and (before.protocol != UDP or l4_checksum(before) != 0):
        seal(before, after, partial=False, mark_survives=True, addressed=False)
