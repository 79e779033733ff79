/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* REQ_ID of a request: [lines 1-3]. */
#ifndef NETCLONE_V1MODEL_SEQUENCE
#define NETCLONE_V1MODEL_SEQUENCE

#include "../shared/headers.p4"

control Sequence(inout headers_t hdr) {
    register<bit<32>>(1) sequence;
    bit<32> id;

    apply {
        sequence.read(id, 0);
        id = id + 1; /* [line 2] */
        if (id == 0) {
            id = 1;
        }
        sequence.write(0, id);
        hdr.netclone.req_id = id; /* [line 3] */
    }
}

#endif
