/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter tables (FilterT): which cloned requests have been answered. [lines 17-23] */
#ifndef NETCLONE_V1MODEL_FILTER
#define NETCLONE_V1MODEL_FILTER

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

control Filter(in headers_t hdr, inout netclone_meta_t nc, in bit<32> slot_mask) {
    register<bit<64>>(FILTER_SLOTS * NETCLONE_FILTER_TABLES) filter;
    bit<64> fingerprint;
    bit<64> held;
    bit<32> slot;

    apply {
        fingerprint = nc.mark ++ hdr.netclone.req_id;
        /* [line 18] */
        slot = hdr.netclone.req_id ^ ((bit<32>)nc.mark[23:16] << 7) ^
               ((bit<32>)nc.mark[15:0] << 11) ^ ((bit<32>)nc.mark[15:0] >> 6);
        slot = (slot & slot_mask) |
               ((bit<32>)hdr.netclone.idx << NC_FILTER_SLOTS_LOG2);
        filter.read(held, slot);
        if (nc.role == ROLE_CLONED_RESPONSE) {
            if (held == fingerprint) { /* [line 19] */
                filter.write(slot, 0); /* [line 20] */
                nc.lost = 1;           /* [line 21] */
                nc.reason = NC_CTR_filtered_slower_response;
            } else {
                filter.write(slot, fingerprint); /* [lines 22-23] */
                if (hdr.netclone.clo == NC_CLO_CLONE) {
                    nc.reason = NC_CTR_response_first_clone;
                } else {
                    nc.reason = NC_CTR_response_first_original;
                }
            }
        } else if (held == fingerprint) {
            /* A request must not find the past self of its id. */
            filter.write(slot, 0);
        }
    }
}

#endif
