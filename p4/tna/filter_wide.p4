/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A filter table with whole fingerprints of 64 bits (-DNETCLONE_WIDE_FINGERPRINTS): REQ_ID, and the
 * mark of fingerprint.p4. A stateful ALU reaches 2^16 of them, so a table is two registers. */
#ifndef NETCLONE_TNA_FILTER_WIDE
#define NETCLONE_TNA_FILTER_WIDE

typedef bit<16> half_slot_t;
const bit<32> FILTER_HALF_SLOTS = FILTER_SLOTS / 2;

struct fingerprint_t {
    bit<32> id;
    bit<32> mark; /* never 0 in a slot that is taken */
}

/* docs/data-plane.md, "Words". */
control FilterSlot(in headers_t hdr, inout netclone_meta_t nc) {
    Hash<bit<32>>(HashAlgorithm_t.XOR32) mix;

    /* [line 18] */
    action find_slot() {
        nc.slot = mix.get({ hdr.netclone.req_id,
                            17w0, nc.mark[23:16], 7w0,
                            5w0, nc.mark[15:0], 11w0,
                            22w0, nc.mark[15:6] })[16:0];
    }

    table filter_slot {
        actions = { find_slot; }
        const default_action = find_slot();
        size = 1;
    }

    apply {
        filter_slot.apply();
    }
}

control FilterHalf(in headers_t hdr, inout netclone_meta_t nc) {
    Register<fingerprint_t, half_slot_t>(FILTER_HALF_SLOTS, {0, 0}) filter;

    /* [lines 19-23]: leaves the fingerprint, unless it is there already: then takes it out. */
    RegisterAction<fingerprint_t, half_slot_t, bit<8>>(filter) swap = {
        void apply(inout fingerprint_t held, out bit<8> slower) {
            if (held.id == hdr.netclone.req_id && held.mark == nc.mark) {
                slower = 1;
                held.id = 0;
                held.mark = 0;
            } else {
                slower = 0;
                held.id = hdr.netclone.req_id;
                held.mark = nc.mark;
            }
        }
    };

    /* A request must not find the past self of its id. */
    RegisterAction<fingerprint_t, half_slot_t, bit<8>>(filter) forget = {
        void apply(inout fingerprint_t held) {
            if (held.id == hdr.netclone.req_id && held.mark == nc.mark) {
                held.id = 0;
                held.mark = 0;
            }
        }
    };

    apply {
        if (nc.role == ROLE_CLONED_RESPONSE) {
            nc.slower = swap.execute(nc.slot[15:0]);
        } else {
            forget.execute(nc.slot[15:0]);
        }
    }
}

/* One table. */
control FilterTable(in headers_t hdr, inout netclone_meta_t nc) {
    FilterHalf() low;
    FilterHalf() high;

    apply {
        if (nc.slot[16:16] == 0) {
            low.apply(hdr, nc);
        } else {
            high.apply(hdr, nc);
        }
    }
}

#endif
