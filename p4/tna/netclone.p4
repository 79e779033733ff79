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
#include "../shared/operands.p4"
#include "../shared/admission.p4"
#include "../shared/candidate.p4"
#include "../shared/address.p4"
#include "../shared/forward.p4"
#include "checksum.p4"
#include "deparser.p4"
#include "egress.p4"
#include "states.p4"
#include "sequence.p4"
#include "filter.p4"
#ifdef NETCLONE_WIDE_FINGERPRINTS
#include "../shared/fingerprint.p4"
#else
#include "fingerprint.p4"
#endif
#include "lengths.p4"

/* The exclusion id that no port has. */
const bit<9> NO_PORT = 0x1ff;

/* Written in one stage by tables that do not depend on one another: never in one container. */
@pa_solitary("ingress", "meta.nc.role")
@pa_solitary("ingress", "meta.nc.mix_kind")
@pa_solitary("ingress", "meta.nc.mix_high")
@pa_solitary("ingress", "meta.nc.mix_low")
@pa_solitary("ingress", "meta.nc.length_gap")
@pa_solitary("ingress", "meta.nc.slower")
control SwitchIngress(inout headers_t hdr, inout metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    Counter<bit<64>, reason_t>(REASON_COUNT, CounterType_t.PACKETS) reasons;
    Lengths() lengths;
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
    FilterSlot() filter_slot;
    Filter() filter;
    ChangedChecksums() checksums;

    action configure(bit<1> racksched, bit<1> cloning) {
        meta.nc.racksched = racksched;
        meta.nc.cloning = cloning;
    }

    table settings {
        actions = { configure; NoAction; }
        default_action = NoAction();
        size = 1;
    }

    /* The states of this packet's client live in its port's pipeline: there, untouched. */
    action to_own_pipeline() {
        for_tm.ucast_egress_port[8:7] = meta.nc.out_port[8:7];
        for_tm.ucast_egress_port[6:0] = NETCLONE_RECIRCULATION_PORT;
    }

    action count() {
        reasons.count(meta.nc.reason);
    }

    action drop() {
        reasons.count(meta.nc.reason);
        for_deparser.drop_ctl = 1;
    }

    action drop_slower_response() {
        reasons.count(NC_CTR_filtered_slower_response);
        for_deparser.drop_ctl = 1;
    }

    apply {
        settings.apply();
        hosts.apply(hdr, meta.nc);
        lengths.apply(hdr, meta.nc);
        if (hdr.netclone.isValid()) {
            role.apply(hdr, meta.nc);
            fingerprint.apply(hdr, meta.nc);
        }
        operands.apply(hdr, meta.nc);
        if (meta.nc.out_port[8:7] != intrinsic.ingress_port[8:7]) {
            meta.nc.elsewhere = meta.nc.host_known;
        }
        admission.apply(hdr, meta.nc);
        if (meta.nc.elsewhere == 1 &&
            (meta.nc.role == ROLE_RESPONSE || meta.nc.role == ROLE_CLONED_RESPONSE)) {
            to_own_pipeline();
        } else {
            states.apply(hdr, meta.nc);
            if (meta.nc.role == ROLE_REQUEST || meta.nc.role == ROLE_PINNED ||
                meta.nc.role == ROLE_WRITE) {
                sequence.apply(hdr, meta.nc);
            }
            filter_slot.apply(hdr, meta.nc);
            if (meta.nc.role == ROLE_ORDINARY || meta.nc.role == ROLE_RESPONSE ||
                meta.nc.role == ROLE_CLONED_RESPONSE) {
                routes.apply(hdr, meta.nc);
            } else {
                checksums.apply(hdr, meta.nc);
            }
            filter.apply(hdr, meta.nc);
            candidate.apply(hdr, meta.nc);
            if (meta.nc.role == ROLE_REQUEST || meta.nc.role == ROLE_PINNED ||
                meta.nc.role == ROLE_CLONE) {
                address.apply(hdr, meta.nc);
            }
            if (meta.nc.slower == 1) {
                drop_slower_response();
            } else if (meta.nc.lost == 1) {
                drop();
            } else {
                count();
            }
            for_tm.mcast_grp_a = meta.nc.multicast;
            if (meta.nc.multicast == MULTICAST_NONE) {
                for_tm.ucast_egress_port = meta.nc.out_port;
            }
            /* A flooded frame does not go back; a clone may. */
            if (meta.nc.multicast == MULTICAST_FLOOD) {
                for_tm.level2_exclusion_id = intrinsic.ingress_port;
            } else {
                for_tm.level2_exclusion_id = NO_PORT;
            }
        }
    }
}

Pipeline(IngressParser(), SwitchIngress(), IngressDeparser(), EgressParser(), SwitchEgress(),
         EgressDeparser()) pipe;

Switch(pipe) main;
