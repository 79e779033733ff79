/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state table (StateT) and its shadow (ShadowT). A packet touches a register at most once;
 * what it reads and what it writes there is one step of the stateful ALU. */
#ifndef NETCLONE_TNA_STATES
#define NETCLONE_TNA_STATES

#include "../shared/limits.p4"
#include "../shared/metadata.p4"

/* The state table (StateT) is read for the first server; its shadow (ShadowT), a stage
 * later, for the second, and compared there [line 6]. A response writes both [lines 15-16]. */
control States(in headers_t hdr, inout netclone_meta_t nc) {
    bit<32> first_state = 0;

    Register<bit<32>, server_t>(NC_MAX_SERVERS, 0) state;

    RegisterAction<bit<32>, server_t, bit<32>>(state) read_state = {
        void apply(inout bit<32> held, out bit<32> result) {
            result = held;
        }
    };

    RegisterAction<bit<32>, server_t, bit<32>>(state) write_state = {
        void apply(inout bit<32> held) {
            held = hdr.netclone.state;
        }
    };

    Register<bit<32>, server_t>(NC_MAX_SERVERS, 0) shadow_state;

    /* Idle, or shorter than the first: an idle second never loses. */
    RegisterAction<bit<32>, server_t, bit<8>>(shadow_state) compare = {
        void apply(inout bit<32> held, out bit<8> second_wins) {
            if (held == 0 || held < first_state) {
                second_wins = 1;
            } else {
                second_wins = 0;
            }
        }
    };

    RegisterAction<bit<32>, server_t, bit<8>>(shadow_state) write_shadow_state = {
        void apply(inout bit<32> held) {
            held = hdr.netclone.state;
        }
    };

    apply {
        if (nc.role == ROLE_RESPONSE || nc.role == ROLE_CLONED_RESPONSE) { /* [line 14] */
            write_state.execute(hdr.netclone.sid[7:0]);
            write_shadow_state.execute(hdr.netclone.sid[7:0]);
        } else if (nc.role == ROLE_REQUEST) {
            first_state = read_state.execute(nc.first);
            nc.second_wins = compare.execute(nc.second);
            if (first_state == 0) {
                nc.first_idle = 1;
            }
        }
    }
}

#endif
