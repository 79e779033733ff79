/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The upper half of a packet's fingerprint (docs/data-plane.md, "Words"); the lower half
 * is REQ_ID. */
#ifndef NETCLONE_P4_FINGERPRINT
#define NETCLONE_P4_FINGERPRINT

#include "metadata.p4"

/* Bits 56 .. 58 of the fingerprint, as the first byte of its upper half. */
const bit<8> MARK_PLAIN = 1;
const bit<8> MARK_CLIENT = 1 | 2;
const bit<8> MARK_MULTI = 1 | 4;
const bit<8> MARK_CLIENT_MULTI = 1 | 2 | 4;

control Fingerprint(in headers_t hdr, inout netclone_meta_t nc) {
    action plain() {
        nc.mark = MARK_PLAIN ++ 24w0;
    }

    action client() {
        nc.mark = MARK_CLIENT ++ 8w0 ++ hdr.netclone.client_id;
    }

    action multi() {
        nc.mark = MARK_MULTI ++ hdr.netclone.pkt_index ++ 16w0;
    }

    action client_multi() {
        nc.mark = MARK_CLIENT_MULTI ++ hdr.netclone.pkt_index ++ hdr.netclone.client_id;
    }

    table fingerprint {
        key = {
            hdr.netclone.flags     : ternary;
            hdr.netclone.pkt_count : ternary;
        }
        actions = { plain; client; multi; client_multi; }
        const default_action = client_multi();
        const entries = {
            (0 &&& 2, 0 &&& 0xfe) : plain();
            (2 &&& 2, 0 &&& 0xfe) : client();
            (0 &&& 2, _)          : multi();
        }
    }

    apply {
        fingerprint.apply();
    }
}

#endif
