/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NetClone for Intel's TNA: Tofino 1, and Tofino 2 with -DNETCLONE_TOFINO2. */
#include <core.p4>
#ifdef NETCLONE_TOFINO2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

#include "parser.p4"
#include "../shared/role.p4"
#include "../shared/fingerprint.p4"
#include "../shared/operands.p4"
#include "../shared/admission.p4"
#include "../shared/candidate.p4"
#include "../shared/address.p4"
#include "../shared/forward.p4"
#include "deparser.p4"
#include "egress.p4"
#include "filter.p4"
#include "tables.p4"

control Ingress(inout headers_t hdr, inout metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    Counter<bit<64>, reason_t>(REASON_COUNT, CounterType_t.PACKETS) reasons;
    Role() role;
    Fingerprint() fingerprint;
    Operands() operands;
    Hosts() hosts;
    Routes() routes;
    Admission() admission;
    States() states;
    Sequence() sequence;
    Candidate() candidate;
    Address() address;
    FilterTable() filter_0;
#if NETCLONE_FILTER_TABLES > 1
    FilterTable() filter_1;
#endif
    slot_t slot;

    action configure(bit<1> racksched, bit<1> cloning) {
        meta.nc.racksched = racksched;
        meta.nc.cloning = cloning;
    }

    table settings {
        actions = { configure; NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        settings.apply();
        hosts.apply(hdr, meta.nc);
        if (hdr.ipv6.isValid()) {
            meta.nc.is_ipv6 = 1;
        }
        if (hdr.netclone.isValid()) {
            role.apply(hdr, meta.nc);
            fingerprint.apply(hdr, meta.nc);
        }
        operands.apply(hdr, meta.nc);
        admission.apply(hdr, meta.nc);
        states.apply(hdr, meta.nc);
        if (meta.nc.role == ROLE_REQUEST || meta.nc.role == ROLE_PINNED ||
            meta.nc.role == ROLE_WRITE) {
            hdr.netclone.switch_id = meta.nc.switch_id;
            if (hdr.netclone.flags & NC_FLAG_CLIENT_ID_VALID == 0) {
                sequence.apply(hdr);
            }
        }
        candidate.apply(hdr, meta.nc);
        slot = hdr.netclone.req_id[NC_FILTER_SLOTS_LOG2 - 1:0];
        if (hdr.netclone.clo == NC_CLO_ORIGINAL && meta.nc.role == ROLE_REQUEST ||
            meta.nc.role == ROLE_CLONED_RESPONSE) {
            if (hdr.netclone.idx == 0) {
                filter_0.apply(hdr, meta.nc, slot);
            }
#if NETCLONE_FILTER_TABLES > 1
            else {
                filter_1.apply(hdr, meta.nc, slot);
            }
#endif
        }
        if (meta.nc.role == ROLE_REQUEST || meta.nc.role == ROLE_PINNED ||
            meta.nc.role == ROLE_COPY) {
            address.apply(hdr, meta.nc);
        }
        reasons.count(meta.nc.reason);
        for_tm.bypass_egress = 1;
        for_tm.mcast_grp_a = meta.nc.multicast;
        if (meta.nc.lost == 1) {
            for_deparser.drop_ctl = 1;
        } else if (meta.nc.multicast == MULTICAST_NONE) {
            for_tm.ucast_egress_port = meta.nc.out_port;
        }
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(),
         EgressDeparser()) pipe;

Switch(pipe) main;
