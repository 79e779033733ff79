/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fingerprints in 32 bits. A slot holds REQ_ID; which slot it is says the rest: the index is
 * REQ_ID, exclusive or 17 bits that are the client's id or the packet's index. From REQ_ID and
 * the slot both can be told, so no two fingerprints are mistaken for each other. */
#ifndef NETCLONE_TNA_FINGERPRINT
#define NETCLONE_TNA_FINGERPRINT

#include "../shared/metadata.p4"

control Fingerprint(in headers_t hdr, inout netclone_meta_t nc) {
    action plain() {
        nc.mix_kind = 0;
        nc.mix_high = 0;
        nc.mix_low = 0;
    }

    action client() {
        nc.mix_kind = 1;
        nc.mix_high = hdr.netclone.client_id[15:8];
        nc.mix_low = hdr.netclone.client_id[7:0];
    }

    action multi() {
        nc.mix_kind = 0;
        nc.mix_high = hdr.netclone.pkt_index;
        nc.mix_low = 0x80;
    }

    table fingerprint {
        key = {
            hdr.netclone.flags     : ternary;
            hdr.netclone.pkt_count : ternary;
        }
        actions = { plain; client; multi; }
        const default_action = client();
        const entries = {
            (0 &&& 2, 0 &&& 0xfe) : plain();
            (0 &&& 2, _)          : multi();
        }
        size = 4;
    }

    apply {
        fingerprint.apply();
    }
}

#endif
