/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The registers: state table (StateT) and its shadow (ShadowT), the sequence, the filter
 * tables (FilterT). BMv2 runs one packet at a time through a pipeline, so a read and a
 * write in one action are one step, as a stateful ALU's. */
#ifndef NETCLONE_V1MODEL_TABLES
#define NETCLONE_V1MODEL_TABLES

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

/* Both tables hold the same; on an ASIC each can be read once a packet. */
control States(in headers_t hdr, inout netclone_meta_t nc) {
    register<bit<32>>(NC_MAX_SERVERS) state;
    register<bit<32>>(NC_MAX_SERVERS) shadow_state;
    bit<32> first_queue;
    bit<32> second_queue;

    apply {
        if (nc.role == ROLE_RESPONSE || nc.role == ROLE_CLONED_RESPONSE) {
            state.write(hdr.netclone.sid, hdr.netclone.state);
            shadow_state.write(hdr.netclone.sid, hdr.netclone.state);
        } else {
            state.read(first_queue, (bit<32>)nc.first);
            shadow_state.read(second_queue, (bit<32>)nc.second);
            if (first_queue == 0) {
                nc.first_idle = 1;
            }
            if (second_queue == 0 && first_queue == 0 || second_queue < first_queue) {
                nc.second_wins = 1;
            }
        }
    }
}

control Sequence(inout headers_t hdr) {
    register<bit<32>>(1) sequence;
    bit<32> id;

    apply {
        sequence.read(id, 0);
        id = id + 1;
        if (id == 0) {
            id = 1;
        }
        sequence.write(0, id);
        hdr.netclone.req_id = id;
    }
}

control Filter(in headers_t hdr, inout netclone_meta_t nc, in bit<32> slot_mask) {
    register<bit<64>>(FILTER_SLOTS * NETCLONE_FILTER_TABLES) filter;
    bit<64> fingerprint;
    bit<64> held;
    bit<32> slot;

    apply {
        fingerprint = nc.mark ++ hdr.netclone.req_id;
        slot = hdr.netclone.req_id ^ ((bit<32>)nc.mark[23:16] << 7) ^
               ((bit<32>)nc.mark[15:0] << 11) ^ ((bit<32>)nc.mark[15:0] >> 6);
        slot = (slot & slot_mask) |
               ((bit<32>)hdr.netclone.idx << NC_FILTER_SLOTS_LOG2);
        filter.read(held, slot);
        if (nc.role == ROLE_CLONED_RESPONSE) {
            if (held == fingerprint) {
                filter.write(slot, 0);
                nc.lost = 1;
                nc.reason = NC_CTR_filtered_slower_response;
            } else {
                filter.write(slot, fingerprint);
                nc.reason = NC_CTR_response_first;
            }
        } else if (held == fingerprint) {
            /* A request must not find the past self of its id. */
            filter.write(slot, 0);
        }
    }
}

#endif
