/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether the packet is what its header says: the checks of docs/data-plane.md in their
 * order, each with its counter. What is refused passes untouched. */
#ifndef NETCLONE_P4_ADMISSION
#define NETCLONE_P4_ADMISSION

#include "metadata.p4"

#define ANY_REQUEST 0 &&& 8
#define ANY_RESPONSE 8 &&& 8

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
        }
        actions = { refuse; refuse_as_parsed; admit; }
        const default_action = refuse_as_parsed();
        /* hdr, to, from, parsed, role, grp, sid, idx, ours, host, v6, v4s, v6s, source */
        const entries = {
            (true, _, _, _, ROLE_COPY, _, _, _, _, _, _, _, _, _) : admit(NC_CTR_clone_sent);
            (_, 0, 0, NC_CTR_bad_length, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_not_netclone);
            (_, 0, 0, NC_CTR_short_payload, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_not_netclone);
            (_, 0, 0, _, _, _, _, _, _, _, _, _, _, _) : refuse_as_parsed();
            (_, _, _, NC_CTR_bad_length, _, _, _, _, _, _, _, _, _, _) : refuse_as_parsed();
            (false, _, _, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_short_payload);
            (_, _, _, NC_CTR_short_payload, _, _, _, _, _, _, _, _, _, _) : refuse_as_parsed();
            (_, _, _, _, ROLE_ANONYMOUS_TCP, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_tcp_without_client_id);
            (_, _, _, _, ROLE_BAD_TYPE, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_type);
            (_, 0, _, _, ANY_REQUEST, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_type);
            (_, _, 0, _, ANY_RESPONSE, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_type);
            (_, _, _, _, ROLE_BAD_REQUEST, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_clo);
            (_, _, _, _, ROLE_BAD_RESPONSE, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_clo);
            (_, _, _, _, _, 0, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_group);
            (_, _, _, _, ROLE_WRITE, _, 0, 1, 1, 0, _, _, _, _) : refuse(NC_CTR_unknown_port);
            (_, _, _, _, ROLE_WRITE, _, 0, 1, 1, 1, _, _, _, _) : admit(NC_CTR_no_clone);
            (_, _, _, _, ROLE_ALREADY_CLONED, _, 0, 1, 1, _, _, _, _, _) : refuse(NC_CTR_already_cloned);
            (_, _, _, _, ANY_REQUEST, _, 0, 1, 1, _, 0, USABLE_NONE, _, _) : refuse(NC_CTR_unknown_port);
            (_, _, _, _, ANY_REQUEST, _, 0, 1, 1, _, 1, _, USABLE_NONE, _) : refuse(NC_CTR_unknown_port);
            (_, _, _, _, ANY_REQUEST, _, 0, 1, 1, _, _, _, _, _) : admit(NC_CTR_not_cloned);
            (_, _, _, _, ANY_RESPONSE, _, 0, 1, 1, _, _, _, _, 0) : refuse(NC_CTR_unknown_source);
            (_, _, _, _, ANY_RESPONSE, _, 0, 1, 1, _, _, _, _, 1) : admit(NC_CTR_response_forwarded);
            (_, _, _, _, _, _, 0, 1, 0, _, _, _, _, _) : refuse(NC_CTR_foreign_switch);
            (_, _, _, _, _, _, 0, 0, _, _, _, _, _, _) : refuse(NC_CTR_bad_idx);
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _) : refuse(NC_CTR_bad_sid);
        }
    }

    apply {
        admission.apply();
    }
}

#endif
