/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* REQ_ID of a request, and SWITCH_ID: [lines 1-3]. */
#ifndef NETCLONE_TNA_SEQUENCE
#define NETCLONE_TNA_SEQUENCE

#include "../shared/metadata.p4"
#include "placement.p4"

/* What the switch writes into a request before it goes on: its own id, and REQ_ID unless the
 * client chose one. */
control Sequence(inout headers_t hdr, in netclone_meta_t nc) {
    /* Signed: the ALU compares with small constants only, and -1 is one. */
    Register<int<32>, bit<1>>(1, 0) sequence;

    /* 0 means "not assigned": it is skipped. */
    RegisterAction<int<32>, bit<1>, int<32>>(sequence) next_id = {
        void apply(inout int<32> last, out int<32> id) {
            if (last == -1) {
                last = 1;
            } else {
                last = last + 1;
            }
            id = last; /* [line 2] */
        }
    };

    action keep_id() {
        hdr.netclone.switch_id = nc.switch_id;
    }

    action assign_id() {
        hdr.netclone.switch_id = nc.switch_id;
        hdr.netclone.req_id = (bit<32>)next_id.execute(0); /* [line 3] */
    }

    NETCLONE_STAGE(2)
    table identify {
        key = { hdr.netclone.flags : ternary; }
        actions = { keep_id; assign_id; }
        const default_action = assign_id();
        const entries = {
            NC_FLAG_CLIENT_ID_VALID &&& NC_FLAG_CLIENT_ID_VALID : keep_id();
        }
        size = 2;
    }

    apply {
        identify.apply();
    }
}

#endif
