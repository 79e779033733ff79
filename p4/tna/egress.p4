/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Nothing is left to do behind the traffic manager: a packet passes as it is. */
#ifndef NETCLONE_TNA_EGRESS
#define NETCLONE_TNA_EGRESS

struct egress_headers_t { }

struct egress_metadata_t { }

parser EgressParser(packet_in pkt, out egress_headers_t hdr, out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t intrinsic) {
    state start {
        pkt.extract(intrinsic);
        transition accept;
    }
}

control SwitchEgress(inout egress_headers_t hdr, inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t from_parser,
               inout egress_intrinsic_metadata_for_deparser_t for_deparser,
               inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply { }
}

control EgressDeparser(packet_out pkt, inout egress_headers_t hdr, in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        pkt.emit(hdr);
    }
}

#endif
