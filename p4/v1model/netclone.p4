/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NetClone for the v1model architecture: BMv2's simple_switch. */
#include <core.p4>
#include <v1model.p4>

#define NETCLONE_REQUEST_TABLE
#define NETCLONE_WIDE_FINGERPRINTS
#ifndef NETCLONE_FILTER_TABLES
#define NETCLONE_FILTER_TABLES 4
#endif

#include "../shared/parser.p4"
#include "../shared/role.p4"
#include "../shared/operands.p4"
#include "../shared/admission.p4"
#include "../shared/candidate.p4"
#include "../shared/address.p4"
#include "../shared/forward.p4"
#include "checksum.p4"
#include "fdb.p4"
#include "../shared/fingerprint.p4"
#include "lengths.p4"
#include "requests.p4"
#include "states.p4"
#include "sequence.p4"
#include "filter.p4"
#include "leave.p4"

/* simple_switch's code for a packet on its second pass. */
const bit<32> INSTANCE_RECIRCULATED = 4;
/* Replication id of the clone in a server's multicast group. */
const bit<16> REPLICA_CLONE = 1;

struct metadata_t {
    netclone_meta_t nc;
    sums_t          before;
    bit<16>         tcp_len;
    bool            in_full; /* L4 checksum to be computed over the payload */
}

parser SwitchParser(packet_in pkt, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    NetCloneParser() netclone;

    state start {
        netclone.apply(pkt, hdr, meta.nc);
        transition accept;
    }
}

control NoVerification(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(REASON_COUNT, CounterType.packets) reasons;
    Lengths() lengths;
    Role() role;
    Fingerprint() fingerprint;
    Operands() operands;
    LookUpHost() look_up_host;
    LearnHost() learn_host;
    Hosts() hosts;
    Routes() routes;
    Admission() admission;
    States() states;
    Sequence() sequence;
    RecallDecision() recall;
    RememberDecision() remember;
    Candidate() candidate;
    Address() address;
    Filter() filter;
    Sums() sums;
    NeedsFullSum() needs_full_sum;
    UpdateChecksums() update_checksums;
    Leave() leave;
    bit<32> slot_mask = FILTER_SLOTS - 1;
    bit<32> l4_len;
    bool recalled = false;
    bool full_sum;

    /* What the topology file says about this switch, beyond its tables' entries. */
    action configure(bit<1> racksched, bit<1> cloning, bit<32> filter_slot_mask) {
        meta.nc.racksched = racksched;
        meta.nc.cloning = cloning;
        slot_mask = filter_slot_mask;
    }

    table settings {
        actions = { configure; NoAction; }
        default_action = NoAction();
    }

    apply {
        settings.apply();
        meta.nc.recirculated = (bit<1>)(standard.instance_type == INSTANCE_RECIRCULATED);
        lengths.apply(hdr, meta.nc, standard, l4_len);
        sums.apply(hdr, meta.before);
        needs_full_sum.apply(hdr, l4_len, full_sum);
        look_up_host.apply(hdr, meta.nc);
        if (hdr.netclone.isValid()) {
            role.apply(hdr, meta.nc);
            fingerprint.apply(hdr, meta.nc);
        }
        operands.apply(hdr, meta.nc);
        admission.apply(hdr, meta.nc);

        if (meta.nc.role == ROLE_ORDINARY) {
            /* Untouched, and not by the cache: by the tables below. */
            meta.nc.host_known = 0;
        } else if (meta.nc.role == ROLE_RESPONSE || meta.nc.role == ROLE_CLONED_RESPONSE) {
            states.apply(hdr, meta.nc);
            if (meta.nc.role == ROLE_CLONED_RESPONSE) {
                filter.apply(hdr, meta.nc, slot_mask);
            }
            /* Not changed; but a sum that its sender left to its device is made. */
            meta.in_full = full_sum && meta.nc.host_known == 1;
        } else {
            if (meta.nc.role != ROLE_CLONE) {
                learn_host.apply(hdr, standard.ingress_port);
                hdr.netclone.switch_id = meta.nc.switch_id;
                if ((hdr.netclone.flags & NC_FLAG_CLIENT_ID_VALID) == 0) {
                    sequence.apply(hdr);
                }
            }
            if (meta.nc.role != ROLE_WRITE) {
                states.apply(hdr, meta.nc);
                if (meta.nc.role == ROLE_MULTI) {
                    recall.apply(hdr, meta.nc, recalled);
                }
                candidate.apply(hdr, meta.nc);
                if (meta.nc.role == ROLE_MULTI && !recalled) {
                    remember.apply(hdr, meta.nc);
                }
                if (hdr.netclone.clo == NC_CLO_ORIGINAL) {
                    filter.apply(hdr, meta.nc, slot_mask);
                }
                address.apply(hdr, meta.nc);
                meta.nc.host_known = 1;
            }
            meta.in_full = full_sum;
        }

        meta.tcp_len = l4_len[15:0];
        reasons.count((bit<32>)meta.nc.reason);
        if (meta.nc.lost == 0 && meta.nc.host_known == 0) {
            hosts.apply(hdr, meta.nc);
            routes.apply(hdr, meta.nc);
        }
        update_checksums.apply(hdr, meta.before, full_sum);
        leave.apply(meta.nc, standard);
    }
}

control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_rid == REPLICA_CLONE) {
            recirculate_preserving_field_list(0);
        } else if (meta.nc.multicast == MULTICAST_FLOOD &&
                   standard.egress_port == standard.ingress_port) {
            mark_to_drop(standard);
        }
    }
}

/* Over IPv4 and IPv6, UDP and TCP: the sum of pseudo header, L4 header and payload. */
#define PSEUDO_IPV4(l4_len) hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, hdr.ipv4.protocol, l4_len
#define PSEUDO_IPV6(l4_len)                                                                        \
    hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 16w0, l4_len, 24w0, hdr.ipv6.next_header
#define UDP_FIELDS hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length
#define TCP_FIELDS                                                                                 \
    hdr.tcp.src_port, hdr.tcp.dst_port, hdr.tcp.sequence, hdr.tcp.acknowledgement,                 \
        hdr.tcp.data_offset, hdr.tcp.flags, hdr.tcp.window, hdr.tcp.urgent,                          \
        hdr.tcp_options_8.words, hdr.tcp_options_8.more, hdr.tcp_options_4.words,                  \
        hdr.tcp_options_2.words, hdr.tcp_options_1.words
#define NETCLONE_FIELDS                                                                            \
    hdr.netclone.switch_id, hdr.netclone.flags, hdr.netclone.type, hdr.netclone.req_id,            \
        hdr.netclone.grp, hdr.netclone.sid, hdr.netclone.state, hdr.netclone.pkt_index,            \
        hdr.netclone.pkt_count, hdr.netclone.reserved0, hdr.netclone.clo,                          \
        hdr.netclone.client_id, hdr.netclone.reserved1, hdr.netclone.idx

control FullChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum_with_payload(
            meta.in_full && hdr.ipv4.isValid() && hdr.udp.isValid(),
            { PSEUDO_IPV4(hdr.udp.length), UDP_FIELDS, NETCLONE_FIELDS },
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(
            meta.in_full && hdr.ipv6.isValid() && hdr.udp.isValid(),
            { PSEUDO_IPV6(hdr.udp.length), UDP_FIELDS, NETCLONE_FIELDS },
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(
            meta.in_full && hdr.ipv4.isValid() && hdr.tcp.isValid(),
            { PSEUDO_IPV4(meta.tcp_len), TCP_FIELDS, NETCLONE_FIELDS },
            hdr.tcp.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(
            meta.in_full && hdr.ipv6.isValid() && hdr.tcp.isValid(),
            { PSEUDO_IPV6(hdr.ipv6.payload_len), TCP_FIELDS, NETCLONE_FIELDS },
            hdr.tcp.checksum, HashAlgorithm.csum16);
    }
}

control SwitchDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(SwitchParser(), NoVerification(), SwitchIngress(), SwitchEgress(), FullChecksums(),
         SwitchDeparser()) main;
