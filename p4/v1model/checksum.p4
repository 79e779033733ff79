/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checksums (docs/data-plane.md): incrementally, by RFC 1624 equation 3; computed in full
 * where the packet carries only the sum of its pseudo header, as a local socket with
 * checksum offload leaves it, or a UDP checksum of 0 over IPv6. */
#ifndef NETCLONE_V1MODEL_CHECKSUM
#define NETCLONE_V1MODEL_CHECKSUM

#include "../shared/metadata.p4"

#define HIGH(word) ((bit<32>)word[31:16])
#define LOW(word) ((bit<32>)word[15:0])
#define SUM_32(word) (HIGH(word) + LOW(word))
#define SUM_128(words)                                                                             \
    (SUM_32(words[127:96]) + SUM_32(words[95:64]) + SUM_32(words[63:32]) + SUM_32(words[31:0]))

/* What a checksum covers and the switch may change, summed but not folded, as the packet
 * came in. */
struct sums_t {
    bit<32> ipv4;    /* of the IPv4 header */
    bit<32> address; /* of the pseudo header */
    bit<32> netclone;
}

control Sums(in headers_t hdr, out sums_t sums) {
    apply {
        sums.ipv4 = 0;
        sums.address = 0;
        sums.netclone = 0;
        if (hdr.ipv4.isValid()) {
            sums.address = SUM_32(hdr.ipv4.dst_addr);
            sums.ipv4 = sums.address + (bit<32>)(hdr.ipv4.ttl ++ hdr.ipv4.protocol);
        } else if (hdr.ipv6.isValid()) {
            sums.address = SUM_128(hdr.ipv6.dst_addr);
        }
        if (hdr.netclone.isValid()) {
            sums.netclone = (bit<32>)hdr.netclone.switch_id + SUM_32(hdr.netclone.req_id) +
                            SUM_32(hdr.netclone.sid) +
                            (bit<32>)(hdr.netclone.reserved0 ++ hdr.netclone.clo);
        }
    }
}

/* One's complement: the carries come back in at the other end; two rounds settle them. */
control Fold(inout bit<32> sum) {
    apply {
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
    }
}

/* Whether the L4 checksum has to be computed in full if the packet is changed. */
control NeedsFullSum(in headers_t hdr, in bit<32> l4_len, out bool in_full) {
    Fold() fold;
    bit<32> pseudo;

    apply {
        if (hdr.ipv6.isValid()) {
            pseudo = SUM_128(hdr.ipv6.src_addr) + SUM_128(hdr.ipv6.dst_addr) +
                     (bit<32>)hdr.ipv6.next_header + l4_len;
        } else {
            pseudo = SUM_32(hdr.ipv4.src_addr) + SUM_32(hdr.ipv4.dst_addr) +
                     (bit<32>)hdr.ipv4.protocol + l4_len;
        }
        fold.apply(pseudo);
        in_full = false;
        if (hdr.udp.isValid()) {
            in_full = hdr.udp.checksum == pseudo[15:0] ||
                      (hdr.udp.checksum == 0 && hdr.ipv6.isValid());
        } else if (hdr.tcp.isValid()) {
            in_full = hdr.tcp.checksum == pseudo[15:0];
        }
    }
}

/* RFC 1624, equation 3. */
control UpdateSum(inout bit<16> checksum, in bit<32> before, in bit<32> after) {
    Fold() fold_before;
    Fold() fold_after;
    Fold() fold;
    bit<32> removed;
    bit<32> added;

    apply {
        removed = before;
        fold_before.apply(removed);
        added = after;
        fold_after.apply(added);
        added = added + (bit<32>)(~checksum) + (bit<32>)(~removed[15:0]);
        fold.apply(added);
        checksum = ~added[15:0];
    }
}

control UpdateChecksums(inout headers_t hdr, in sums_t before, in bool in_full) {
    Sums() sums;
    UpdateSum() update_ipv4;
    UpdateSum() update_udp;
    UpdateSum() update_tcp;
    sums_t after;

    apply {
        sums.apply(hdr, after);
        if (before.ipv4 != after.ipv4) {
            update_ipv4.apply(hdr.ipv4.checksum, before.ipv4, after.ipv4);
        }
        if (in_full || before.address + before.netclone == after.address + after.netclone) {
            return;
        }
        if (hdr.udp.isValid() && hdr.udp.checksum != 0) {
            update_udp.apply(hdr.udp.checksum, before.address + before.netclone,
                             after.address + after.netclone);
            if (hdr.udp.checksum == 0) {
                hdr.udp.checksum = 0xffff;
            }
        } else if (hdr.tcp.isValid()) {
            update_tcp.apply(hdr.tcp.checksum, before.address + before.netclone,
                             after.address + after.netclone);
        }
    }
}

#endif
