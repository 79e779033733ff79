/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state table (StateT) and its shadow (ShadowT). BMv2 runs one packet at a time through a
 * pipeline, so a read and a write in one action are one step, as a stateful ALU's. */
#ifndef NETCLONE_V1MODEL_STATES
#define NETCLONE_V1MODEL_STATES

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

/* Both tables hold the same; an ASIC reads each at most once per packet. */
control States(in headers_t hdr, inout netclone_meta_t nc) {
    register<bit<32>>(NC_MAX_SERVERS) state;
    register<bit<32>>(NC_MAX_SERVERS) shadow_state;
    bit<32> first_state;
    bit<32> second_state;

    apply {
        if (nc.role == ROLE_RESPONSE || nc.role == ROLE_CLONED_RESPONSE) { /* [line 14] */
            /* [lines 15-16] */
            state.write(hdr.netclone.sid, hdr.netclone.state);
            shadow_state.write(hdr.netclone.sid, hdr.netclone.state);
        } else {
            /* [line 6] */
            state.read(first_state, (bit<32>)nc.first);
            shadow_state.read(second_state, (bit<32>)nc.second);
            if (first_state == 0) {
                nc.first_idle = 1;
            }
            if (second_state == 0 && first_state == 0 || second_state < first_state) {
                nc.second_wins = 1;
            }
        }
    }
}

#endif
