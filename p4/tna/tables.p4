/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the compiler's own choice needs one stage more than the program has to take. */
#ifndef NETCLONE_STAGE
#define NETCLONE_STAGE(number) @stage(number)
#endif

/* The registers of Algorithm 1. A packet touches each at most once; what it reads and
 * what it writes there is one step of the stateful ALU. */
#ifndef NETCLONE_TNA_TABLES
#define NETCLONE_TNA_TABLES

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

/* The state table (StateT) is read for the first server; its shadow (ShadowT), a stage
 * later, for the second, and compared there. A response writes both. */
control States(in headers_t hdr, inout netclone_meta_t nc) {
    bit<32> first_queue = 0;

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

    /* Idle, or shorter than the first: an idle second never loses. */
    RegisterAction<bit<32>, server_t, bit<8>>(shadow_state) compare = {
        void apply(inout bit<32> queue, out bit<8> second_wins) {
            if (queue == 0 || queue < first_queue) {
                second_wins = 1;
            } else {
                second_wins = 0;
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
            nc.second_wins = compare.execute(nc.second);
            if (first_queue == 0) {
                nc.first_idle = 1;
            }
        }
    }
}

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
            id = last;
        }
    };

    action keep_id() {
        hdr.netclone.switch_id = nc.switch_id;
    }

    action assign_id() {
        hdr.netclone.switch_id = nc.switch_id;
        hdr.netclone.req_id = (bit<32>)next_id.execute(0);
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
