/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter tables (FilterT): which cloned requests have been answered. */
#ifndef NETCLONE_TNA_FILTER
#define NETCLONE_TNA_FILTER

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

typedef bit<NC_FILTER_SLOTS_LOG2> slot_t;

struct fingerprint_t {
    bit<32> id;
    bit<32> mark; /* never 0 in a slot that is taken */
}

/* One table. */
control FilterTable(in headers_t hdr, inout netclone_meta_t nc, in slot_t slot) {
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
            nc.mark = swap.execute(slot);
        } else {
            forget.execute(slot);
        }
    }
}

#endif
