/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cloned, or to which candidate: [lines 6-12] of Algorithm 1, and RackSched. */
#ifndef NETCLONE_P4_CANDIDATE
#define NETCLONE_P4_CANDIDATE

#include "metadata.p4"

control Candidate(inout headers_t hdr, inout netclone_meta_t nc) {
    /* What ordinary forwarding would have done with the address that the client wrote. */
    action forget_destination() {
        nc.lost = 0;
        nc.multicast = MULTICAST_NONE;
    }

    action to_first() {
        forget_destination();
        nc.chosen = nc.first;
    }

    action to_second() {
        forget_destination();
        nc.chosen = nc.second;
    }

    /* The original goes to the first server; the clone finds the second in SID. */
    action to_both() {
        nc.lost = 0;
        nc.chosen = nc.first;
        nc.reason = NC_CTR_cloned;
        nc.multicast = MULTICAST_OF(nc.first);    /* [lines 9-10] */
        hdr.netclone.clo = NC_CLO_ORIGINAL;       /* [line 7] */
        hdr.netclone.sid = 24w0 ++ nc.second;     /* [line 8] */
    }

    action clone_to_second() {
        forget_destination();
        nc.chosen = hdr.netclone.sid[7:0];
        hdr.netclone.clo = NC_CLO_CLONE; /* [lines 11-12] */
    }

    table candidate {
        key = {
            nc.role        : ternary;
            nc.is_ipv6     : ternary;
            nc.usable_v4   : ternary;
            nc.usable_v6   : ternary;
            nc.racksched   : ternary;
            nc.clonable    : ternary;
            nc.first_idle  : ternary;
            nc.second_wins : ternary;
        }
        actions = { to_first; to_second; to_both; clone_to_second; NoAction; }
        const default_action = NoAction();
        const entries = {
            (ROLE_CLONE, _, _, _, _, _, _, _) : clone_to_second();
            (ROLE_ORDINARY, _, _, _, _, _, _, _) : NoAction();
            (ROLE_WRITE, _, _, _, _, _, _, _) : NoAction();
            (8 &&& 8, _, _, _, _, _, _, _) : NoAction(); /* responses */
            (_, 0, USABLE_SECOND, _, _, _, _, _) : to_second();
            (_, 1, _, USABLE_SECOND, _, _, _, _) : to_second();
            (_, 0, USABLE_FIRST, _, _, _, _, _) : to_first();
            (_, 1, _, USABLE_FIRST, _, _, _, _) : to_first();
            (ROLE_PINNED, _, _, _, _, _, _, _) : to_first();
            (_, _, _, _, _, 1, 1, 1) : to_both();
            (_, _, _, _, 1, _, 0, 1) : to_second();
            (_, _, _, _, _, _, _, _) : to_first();
        }
        size = 32;
    }

    apply {
        candidate.apply();
    }
}

#endif
