/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a packet would be by its NetClone header alone. Whether its ports, its operands
 * and this switch agree is the admission table's to say. */
#ifndef NETCLONE_P4_ROLE
#define NETCLONE_P4_ROLE

#include "metadata.p4"

/* Without a cloned-request table nothing remembers what the first packet's fate was. */
#ifdef NETCLONE_REQUEST_TABLE
#define ROLE_TIED ROLE_MULTI
#else
#define ROLE_TIED ROLE_PINNED
#endif

/* A filter table that holds REQ_ID alone has no word for 0, and none for the packets of a
 * response whose slot CLIENT_ID already decides: both responses pass. */
#ifdef NETCLONE_WIDE_FINGERPRINTS
#define ROLE_OF_IDENTIFIED_RESPONSE                                                                \
    (_, NC_TYPE_RESP, 0 &&& 0xfc, FLAG_VALID, _, _, _) : set_role(ROLE_CLONED_RESPONSE);
#else
#define ROLE_OF_IDENTIFIED_RESPONSE                                                                \
    (_, NC_TYPE_RESP, 0 &&& 0xfc, FLAG_VALID, _, _, 0) : set_role(ROLE_RESPONSE);                  \
    (_, NC_TYPE_RESP, 0 &&& 0xfc, FLAG_VALID, _, 0 &&& 0xfe, _) : set_role(ROLE_CLONED_RESPONSE);  \
    (_, NC_TYPE_RESP, 0 &&& 0xfc, FLAG_VALID, _, _, _) : set_role(ROLE_RESPONSE);
#endif

#define FLAG_VALID 2 &&& 2
#define FLAG_WRITE 1 &&& 1

control Role(in headers_t hdr, inout netclone_meta_t nc) {
    action set_role(role_t role) {
        nc.role = role;
    }

    table role {
        key = {
            hdr.tcp.isValid()      : ternary;
            hdr.netclone.type      : ternary;
            hdr.netclone.clo       : ternary;
            hdr.netclone.flags     : ternary;
            nc.recirculated        : ternary;
            hdr.netclone.pkt_count : ternary;
            hdr.netclone.req_id    : ternary;
        }
        actions = { set_role; }
        const default_action = set_role(ROLE_BAD_TYPE);
        const entries = {
            (_, NC_TYPE_REQ, NC_CLO_ORIGINAL, _, 1, _, _) : set_role(ROLE_CLONE);
            (true, _, _, 0 &&& 2, _, _, _) : set_role(ROLE_ANONYMOUS_TCP);
            (_, NC_TYPE_REQ, NC_CLO_ORIGINAL, _, _, _, _) : set_role(ROLE_ALREADY_CLONED);
            (_, NC_TYPE_REQ, NC_CLO_CLONE, _, _, _, _) : set_role(ROLE_ALREADY_CLONED);
            (_, NC_TYPE_REQ, NC_CLO_NONE, FLAG_WRITE, _, _, _) : set_role(ROLE_WRITE);
            (_, NC_TYPE_REQ, NC_CLO_NONE, _, _, 0 &&& 0xfe, _) : set_role(ROLE_REQUEST);
            (_, NC_TYPE_REQ, NC_CLO_NONE, FLAG_VALID, _, _, _) : set_role(ROLE_TIED);
            (_, NC_TYPE_REQ, NC_CLO_NONE, _, _, _, _) : set_role(ROLE_PINNED);
            (_, NC_TYPE_REQ, _, _, _, _, _) : set_role(ROLE_BAD_REQUEST);
            (_, NC_TYPE_RESP, NC_CLO_NONE, _, _, _, _) : set_role(ROLE_RESPONSE);
            (_, NC_TYPE_RESP, 3 &&& 0xff, _, _, _, _) : set_role(ROLE_BAD_RESPONSE);
            ROLE_OF_IDENTIFIED_RESPONSE
            (_, NC_TYPE_RESP, 0 &&& 0xfc, _, _, _, 0) : set_role(ROLE_RESPONSE);
            (_, NC_TYPE_RESP, 0 &&& 0xfc, _, _, _, _) : set_role(ROLE_CLONED_RESPONSE);
            (_, NC_TYPE_RESP, _, _, _, _, _) : set_role(ROLE_BAD_RESPONSE);
        }
        size = 32;
    }

    apply {
        role.apply();
    }
}

#endif
