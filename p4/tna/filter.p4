/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter tables (FilterT): which cloned requests have been answered. [lines 17-23] */
#ifndef NETCLONE_TNA_FILTER
#define NETCLONE_TNA_FILTER

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

typedef bit<NC_FILTER_SLOTS_LOG2> slot_t;

#ifdef NETCLONE_WIDE_FINGERPRINTS
#include "filter_wide.p4"
#else
#include "filter_narrow.p4"
#endif

/* The table that IDX names. */
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

    apply {
        /* A response to a cloned request, or a request that is being cloned. */
        if (nc.role == ROLE_CLONED_RESPONSE ||
            (nc.clonable == 1 && nc.first_idle == 1 && nc.second_wins == 1)) {
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
    }
}

#endif
