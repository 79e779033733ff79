/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ingress parser of TNA: its intrinsic headers, the shared parser, and the L4 checksum
 * without what NetClone may change. */
#ifndef NETCLONE_TNA_PARSER
#define NETCLONE_TNA_PARSER

#define PARSER_CHECKSUM Checksum() l4_checksum;
#define PARSED_ADDRESS(field) l4_checksum.subtract({ field });
#define PARSED_CHECKSUM(field) l4_checksum.subtract({ field });
#define PARSED_NETCLONE(header, residual)                                                          \
    l4_checksum.subtract({ header.switch_id, header.flags, header.type, header.req_id, header.sid, \
                           header.reserved0, header.clo });                                        \
    l4_checksum.subtract_all_and_deposit(residual);

#include "../shared/parser.p4"

/* The recirculation port of each pipeline: 68 among its 128. */
#ifndef NETCLONE_RECIRCULATION_PORT
#define NETCLONE_RECIRCULATION_PORT 68
#endif

struct metadata_t {
    netclone_meta_t nc;
}

parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t meta,
                     out ingress_intrinsic_metadata_t intrinsic) {
    NetCloneParser() netclone;

    state start {
        pkt.extract(intrinsic);
        pkt.advance(PORT_METADATA_SIZE);
        meta.nc.recirculated = 0;
        meta.nc.to_port = 0;
        meta.nc.from_port = 0;
        meta.nc.group_known = 0;
        meta.nc.idx_known = 0;
        meta.nc.ours = 0;
        meta.nc.source_known = 0;
        meta.nc.host_known = 0;
        meta.nc.racksched = 0;
        meta.nc.cloning = 0;
        meta.nc.clonable = 0;
        meta.nc.slower = 0;
        meta.nc.second_wins = 0;
        meta.nc.usable_v4 = USABLE_NONE;
        meta.nc.usable_v6 = USABLE_NONE;
        meta.nc.is_ipv6 = 0;
        meta.nc.first_idle = 0;
        meta.nc.second_wins = 0;
        meta.nc.elsewhere = 0;
        meta.nc.lost = 0;
        meta.nc.ipv4_changed = 0;
        meta.nc.udp_changed = 0;
        meta.nc.tcp_changed = 0;
        meta.nc.role = ROLE_ORDINARY;
        meta.nc.reason = NC_CTR_not_netclone;
        meta.nc.multicast = MULTICAST_NONE;
        transition select(intrinsic.ingress_port) {
            NETCLONE_RECIRCULATION_PORT &&& 0x7f: recirculated;
            default: headers;
        }
    }

    state recirculated {
        meta.nc.recirculated = 1;
        transition headers;
    }

    state headers {
        netclone.apply(pkt, hdr, meta.nc);
        transition accept;
    }
}

#endif
