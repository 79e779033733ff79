/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter tables (FilterT): which cloned requests have been answered. */
#ifndef NETCLONE_TNA_FILTER
#define NETCLONE_TNA_FILTER

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

typedef bit<NC_FILTER_SLOTS_LOG2> slot_t;
#define SLOT hdr.netclone.req_id[NC_FILTER_SLOTS_LOG2 - 1:0]

struct fingerprint_t {
    bit<32> id;
    bit<32> mark; /* never 0 in a slot that is taken */
}

/* One table. */
control FilterTable(in headers_t hdr, inout netclone_meta_t nc) {
    Register<fingerprint_t, slot_t>(FILTER_SLOTS, {0, 0}) filter;

    /* Leaves the fingerprint, unless it is there already: then takes it out. The mark that
     * remains says which. */
    RegisterAction<fingerprint_t, slot_t, bit<32>>(filter) swap = {
        void apply(inout fingerprint_t held, out bit<32> left) {
            if (held.id == hdr.netclone.req_id && held.mark == nc.mark) {
                held.id = 0;
                held.mark = 0;
            } else {
                held.id = hdr.netclone.req_id;
                held.mark = nc.mark;
            }
            left = held.mark;
        }
    };

    /* A request must not find the past self of its id. */
    RegisterAction<fingerprint_t, slot_t, bit<32>>(filter) forget = {
        void apply(inout fingerprint_t held) {
            if (held.id == hdr.netclone.req_id && held.mark == nc.mark) {
                held.id = 0;
                held.mark = 0;
            }
        }
    };

    apply {
        if (nc.role == ROLE_CLONED_RESPONSE) {
            nc.mark = swap.execute(SLOT);
        } else {
            forget.execute(SLOT);
        }
    }
}

/* The table that IDX names. What the mark becomes says how the access went. */
control Filter(in headers_t hdr, inout netclone_meta_t nc) {
    FilterTable() filter_0;
#if NETCLONE_FILTER_TABLES > 1
    FilterTable() filter_1;
#endif
#if NETCLONE_FILTER_TABLES > 2
    FilterTable() filter_2;
#endif
#if NETCLONE_FILTER_TABLES > 3
    FilterTable() filter_3;
#endif

    action first_response() {
        nc.reason = NC_CTR_response_first;
    }

    action slower_response() {
        nc.reason = NC_CTR_filtered_slower_response;
        nc.lost = 1;
    }

    apply {
        if (nc.role == ROLE_CLONED_RESPONSE ||
            (nc.role == ROLE_REQUEST && nc.reason == NC_CTR_cloned)) {
            if (hdr.netclone.idx == 0) {
                filter_0.apply(hdr, nc);
            }
#if NETCLONE_FILTER_TABLES > 1
            else if (hdr.netclone.idx == 1) {
                filter_1.apply(hdr, nc);
            }
#endif
#if NETCLONE_FILTER_TABLES > 2
            else if (hdr.netclone.idx == 2) {
                filter_2.apply(hdr, nc);
            }
#endif
#if NETCLONE_FILTER_TABLES > 3
            else {
                filter_3.apply(hdr, nc);
            }
#endif
        }
        if (nc.role == ROLE_CLONED_RESPONSE) {
            if (nc.mark == 0) {
                slower_response();
            } else {
                first_response();
            }
        }
    }
}

#endif
