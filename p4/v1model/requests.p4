/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cloned-request table: the first packet of a message decides, the others follow. */
#ifndef NETCLONE_V1MODEL_REQUESTS
#define NETCLONE_V1MODEL_REQUESTS

#include "../shared/metadata.p4"

const bit<32> REQUEST_SLOTS = 65536; /* NC_REQUEST_SLOTS_LOG2 */
const bit<64> REQUEST_CLONED = 1 << 59;
const bit<64> REQUEST_SECOND = 1 << 60;
const bit<64> REQUEST_KEY = 0xe7ffffffffffffff; /* without the two */

register<bit<64>>(REQUEST_SLOTS) requests;

#define REQUEST_KEY_OF(header) (MARK_CLIENT ++ 8w0 ++ header.client_id ++ header.req_id)
#define REQUEST_SLOT_OF(header)                                                                    \
    ((header.req_id ^ ((bit<32>)header.client_id << 11) ^ ((bit<32>)header.client_id >> 6)) &      \
     (REQUEST_SLOTS - 1))

/* Before the choice: what was decided replaces what the states say now. */
control RecallDecision(in headers_t hdr, inout netclone_meta_t nc, out bool recalled) {
    bit<64> entry;
    usable_t usable;
    server_t first;

    apply {
        usable = nc.usable_v4;
        if (nc.is_ipv6 == 1) {
            usable = nc.usable_v6;
        }
        requests.read(entry, REQUEST_SLOT_OF(hdr.netclone));
        recalled = (entry & REQUEST_KEY) == REQUEST_KEY_OF(hdr.netclone);
        /* Its only server is gone: decided again. */
        if (((entry & (REQUEST_CLONED | REQUEST_SECOND)) == 0 && usable == USABLE_SECOND) ||
            ((entry & (REQUEST_CLONED | REQUEST_SECOND)) == REQUEST_SECOND &&
             usable == USABLE_FIRST)) {
            recalled = false;
        }
        if (recalled) {
            nc.first_idle = 0;
            nc.second_wins = 0;
            if ((entry & REQUEST_CLONED) != 0) {
                nc.first_idle = 1;
                nc.second_wins = 1;
                if ((entry & REQUEST_SECOND) != 0 && usable == USABLE_BOTH) {
                    first = nc.first;
                    nc.first = nc.second;
                    nc.second = first;
                }
            } else if ((entry & REQUEST_SECOND) != 0) {
                nc.second_wins = 1;
                nc.racksched = 1; /* whether or not it is on for the others */
            }
        }
    }
}

/* After the choice. */
control RememberDecision(in headers_t hdr, in netclone_meta_t nc) {
    bit<64> entry;

    apply {
        entry = REQUEST_KEY_OF(hdr.netclone);
        if (hdr.netclone.clo == NC_CLO_ORIGINAL) {
            entry = entry | REQUEST_CLONED;
        } else if (nc.chosen == nc.second) {
            entry = entry | REQUEST_SECOND;
        }
        requests.write(REQUEST_SLOT_OF(hdr.netclone), entry);
    }
}

#endif
