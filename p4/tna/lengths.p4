/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lengths against each other, as far as a pipeline sees them: UDP's and IP's. The admission
 * table says what the gap has to be. */
#ifndef NETCLONE_TNA_LENGTHS
#define NETCLONE_TNA_LENGTHS

#include "../shared/metadata.p4"

control Lengths(in headers_t hdr, inout netclone_meta_t nc) {
    apply {
        if (hdr.udp.isValid()) {
            if (hdr.ipv6.isValid()) {
                nc.length_gap = hdr.ipv6.payload_len - hdr.udp.length;
            } else {
                nc.length_gap = hdr.ipv4.total_len - hdr.udp.length;
            }
        }
    }
}

#endif
