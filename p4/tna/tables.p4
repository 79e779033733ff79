/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The registers of Algorithm 1. A packet touches each at most once; what it reads and
 * what it writes there is one step of the stateful ALU. */
#ifndef NETCLONE_TNA_TABLES
#define NETCLONE_TNA_TABLES

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

/* The state table (StateT) is read for the first server; its shadow (ShadowT), a stage
 * later, for the second, and compared there. A response writes both. */
control States(in headers_t hdr, inout netclone_meta_t nc) {
    bit<32> first_queue;

    Register<bit<32>, server_t>(NC_MAX_SERVERS, 0) state;

    RegisterAction<bit<32>, server_t, bit<32>>(state) read_state = {
        void apply(inout bit<32> queue, out bit<32> result) {
            result = queue;
        }
    };

    RegisterAction<bit<32>, server_t, bit<32>>(state) write_state = {
        void apply(inout bit<32> queue) {
            queue = hdr.netclone.state;
        }
    };

    Register<bit<32>, server_t>(NC_MAX_SERVERS, 0) shadow_state;

    RegisterAction<bit<32>, server_t, bit<8>>(shadow_state) second_is_idle = {
        void apply(inout bit<32> queue, out bit<8> result) {
            if (queue == 0) {
                result = 1;
            } else {
                result = 0;
            }
        }
    };

    RegisterAction<bit<32>, server_t, bit<8>>(shadow_state) second_is_shorter = {
        void apply(inout bit<32> queue, out bit<8> result) {
            if (queue < first_queue) {
                result = 1;
            } else {
                result = 0;
            }
        }
    };

    RegisterAction<bit<32>, server_t, bit<8>>(shadow_state) write_shadow_state = {
        void apply(inout bit<32> queue) {
            queue = hdr.netclone.state;
        }
    };

    apply {
        if (nc.role == ROLE_RESPONSE || nc.role == ROLE_CLONED_RESPONSE) {
            write_state.execute(hdr.netclone.sid[7:0]);
            write_shadow_state.execute(hdr.netclone.sid[7:0]);
        } else if (nc.role == ROLE_REQUEST) {
            first_queue = read_state.execute(nc.first);
            if (first_queue == 0) {
                nc.first_idle = 1;
                nc.second_wins = second_is_idle.execute(nc.second);
            } else {
                nc.second_wins = second_is_shorter.execute(nc.second);
            }
        }
    }
}

control Sequence(inout headers_t hdr) {
    Register<bit<32>, bit<1>>(1, 0) sequence;

    /* 0 means "not assigned": it is skipped. */
    RegisterAction<bit<32>, bit<1>, bit<32>>(sequence) next_id = {
        void apply(inout bit<32> last, out bit<32> id) {
            if (last == 0xffffffff) {
                last = 1;
            } else {
                last = last + 1;
            }
            id = last;
        }
    };

    apply {
        hdr.netclone.req_id = next_id.execute(0);
    }
}

#endif
