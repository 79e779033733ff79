/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A filter table in 32 bits: a slot holds REQ_ID, and fingerprint.p4 says what the slot tells. */
#ifndef NETCLONE_TNA_FILTER_NARROW
#define NETCLONE_TNA_FILTER_NARROW

#include "placement.p4"

control FilterSlot(in headers_t hdr, inout netclone_meta_t nc) {
    Hash<bit<32>>(HashAlgorithm_t.XOR32) mix;

    /* [line 18] */
    action find_slot() {
        nc.slot = mix.get({ hdr.netclone.req_id,
                            15w0, nc.mix_kind[0:0], nc.mix_high, nc.mix_low })[16:0];
    }

    NETCLONE_STAGE(3)
    table filter_slot {
        actions = { find_slot; }
        const default_action = find_slot();
        size = 1;
    }

    apply {
        filter_slot.apply();
    }
}

/* One table. */
control FilterTable(in headers_t hdr, inout netclone_meta_t nc) {
    Register<bit<32>, slot_t>(FILTER_SLOTS, 0) filter;

    /* [lines 19-23]: leaves the fingerprint, unless it is there already: then takes it out. */
    RegisterAction<bit<32>, slot_t, bit<8>>(filter) swap = {
        void apply(inout bit<32> held, out bit<8> slower) {
            if (held == hdr.netclone.req_id) {
                slower = 1;
                held = 0;
            } else {
                slower = 0;
                held = hdr.netclone.req_id;
            }
        }
    };

    /* A request must not find the past self of its id. */
    RegisterAction<bit<32>, slot_t, bit<8>>(filter) forget = {
        void apply(inout bit<32> held) {
            if (held == hdr.netclone.req_id) {
                held = 0;
            }
        }
    };

    action find_twin() {
        nc.slower = swap.execute(nc.slot);
    }

    action forget_past_self() {
        forget.execute(nc.slot);
    }

    table responses {
        actions = { find_twin; }
        const default_action = find_twin();
        size = 1;
    }

    table requests {
        actions = { forget_past_self; }
        const default_action = forget_past_self();
        size = 1;
    }

    apply {
        if (nc.role == ROLE_CLONED_RESPONSE) {
            responses.apply();
        } else {
            requests.apply();
        }
    }
}

#endif
