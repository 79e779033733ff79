/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether the packet is what its header says: the checks of docs/data-plane.md in their
 * order, each with its counter. What is refused passes untouched. */
#ifndef NETCLONE_P4_ADMISSION
#define NETCLONE_P4_ADMISSION

#include "metadata.p4"

#define ANY_REQUEST 0 &&& 8
#define ANY_RESPONSE 8 &&& 8
#define TWO_CANDIDATES 1 &&& 0xd /* ROLE_REQUEST, ROLE_MULTI */

/* UDP length is not what the IP length says: the gap differs from the one that should be there
 * in one bit or another. */
#define DIFFERS(is_ipv6, gap, bit)                                                                 \
    (_, _, _, _, _, _, _, _, _, _, is_ipv6, _, _, _, _, (((gap) ^ (1 << bit)) & (1 << bit)) &&&    \
                                                    (1 << bit)) :                                  \
        refuse(NC_CTR_bad_length);
#define LENGTHS_DIFFER(is_ipv6, gap)                                                               \
    DIFFERS(is_ipv6, gap, 0) DIFFERS(is_ipv6, gap, 1) DIFFERS(is_ipv6, gap, 2)                     \
    DIFFERS(is_ipv6, gap, 3) DIFFERS(is_ipv6, gap, 4) DIFFERS(is_ipv6, gap, 5)                     \
    DIFFERS(is_ipv6, gap, 6) DIFFERS(is_ipv6, gap, 7) DIFFERS(is_ipv6, gap, 8)                     \
    DIFFERS(is_ipv6, gap, 9) DIFFERS(is_ipv6, gap, 10) DIFFERS(is_ipv6, gap, 11)                   \
    DIFFERS(is_ipv6, gap, 12) DIFFERS(is_ipv6, gap, 13) DIFFERS(is_ipv6, gap, 14)                  \
    DIFFERS(is_ipv6, gap, 15)

control Admission(in headers_t hdr, inout netclone_meta_t nc) {
    action refuse(reason_t reason) {
        nc.role = ROLE_ORDINARY;
        nc.reason = reason;
    }

    /* The parser has said why. */
    action refuse_as_parsed() {
        nc.role = ROLE_ORDINARY;
    }

    action admit(reason_t reason) {
        nc.reason = reason;
    }

    /* Both candidates are usable, and the switch clones: what is left to see is the states. */
    action admit_clonable() {
        nc.reason = NC_CTR_not_cloned;
        nc.clonable = 1;
    }

    table admission {
        key = {
            hdr.netclone.isValid()  : ternary;
            nc.to_port              : ternary;
            nc.from_port            : ternary;
            nc.reason               : ternary;
            nc.role                 : ternary;
            nc.group_known          : ternary;
            hdr.netclone.sid[31:8]  : ternary;
            nc.idx_known            : ternary;
            nc.ours                 : ternary;
            nc.host_known           : ternary;
            nc.is_ipv6              : ternary;
            nc.usable_v4            : ternary;
            nc.usable_v6            : ternary;
            nc.source_known         : ternary;
            nc.cloning              : ternary;
            nc.length_gap           : ternary;
        }
        actions = { refuse; refuse_as_parsed; admit; admit_clonable; }
        const default_action = refuse_as_parsed();
        /* hdr, to, from, parsed, role, grp, sid, idx, ours, host, v6, v4s, v6s, source, cloning, gap */
        const entries = {
            (true, _, _, _, ROLE_CLONE, _, _, _, _, _, _, _, _, _, _, _) : admit(NC_CTR_clone_sent);
            (_, 0, 0, NC_CTR_bad_length, _, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_not_netclone);
            (_, 0, 0, NC_CTR_short_payload, _, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_not_netclone);
            (_, 0, 0, _, _, _, _, _, _, _, _, _, _, _, _, _) : refuse_as_parsed();
            (_, _, _, NC_CTR_bad_length, _, _, _, _, _, _, _, _, _, _, _, _) : refuse_as_parsed();
            LENGTHS_DIFFER(0, IPV4_LEN)
            LENGTHS_DIFFER(1, 0)
            (false, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_short_payload);
            (_, _, _, NC_CTR_short_payload, _, _, _, _, _, _, _, _, _, _, _, _) : refuse_as_parsed();
            (_, _, _, _, ROLE_ANONYMOUS_TCP, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_tcp_without_client_id);
            (_, _, _, _, ROLE_BAD_TYPE, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_type);
            (_, 0, _, _, ANY_REQUEST, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_type);
            (_, _, 0, _, ANY_RESPONSE, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_type);
            (_, _, _, _, ROLE_BAD_REQUEST, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_clo);
            (_, _, _, _, ROLE_BAD_RESPONSE, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_clo);
            (_, _, _, _, _, 0, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_group);
            (_, _, _, _, ROLE_WRITE, _, 0, 1, 1, 0, _, _, _, _, _, _) : refuse(NC_CTR_unknown_port);
            (_, _, _, _, ROLE_WRITE, _, 0, 1, 1, 1, _, _, _, _, _, _) : admit(NC_CTR_no_clone);
            (_, _, _, _, ROLE_ALREADY_CLONED, _, 0, 1, 1, _, _, _, _, _, _, _) : refuse(NC_CTR_already_cloned);
            (_, _, _, _, ANY_REQUEST, _, 0, 1, 1, _, 0, USABLE_NONE, _, _, _, _) : refuse(NC_CTR_unknown_port);
            (_, _, _, _, ANY_REQUEST, _, 0, 1, 1, _, 1, _, USABLE_NONE, _, _, _) : refuse(NC_CTR_unknown_port);
            (_, _, _, _, TWO_CANDIDATES, _, 0, 1, 1, _, 0, USABLE_BOTH, _, _, 1, _) : admit_clonable();
            (_, _, _, _, TWO_CANDIDATES, _, 0, 1, 1, _, 1, _, USABLE_BOTH, _, 1, _) : admit_clonable();
            (_, _, _, _, ANY_REQUEST, _, 0, 1, 1, _, _, _, _, _, _, _) : admit(NC_CTR_not_cloned);
            (_, _, _, _, ANY_RESPONSE, _, 0, 1, 1, _, _, _, _, 0, _, _) : refuse(NC_CTR_unknown_source);
            (_, _, _, _, ROLE_RESPONSE, _, 0, 1, 1, _, _, _, _, 1, _, _) : admit(NC_CTR_response_forwarded);
            (_, _, _, _, ROLE_CLONED_RESPONSE, _, 0, 1, 1, _, _, _, _, 1, _, _) : admit(NC_CTR_response_first_original);
            (_, _, _, _, _, _, 0, 1, 0, _, _, _, _, _, _, _) : refuse(NC_CTR_foreign_switch);
            (_, _, _, _, _, _, 0, 0, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_idx);
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_sid);
        }
        size = 128;
    }

    apply {
        admission.apply();
    }
}

#endif
