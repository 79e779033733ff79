/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parser of an ASIC cannot see: lengths against each other and against the
 * frame. Also turns BMv2's parser error into a reason. */
#ifndef NETCLONE_V1MODEL_LENGTHS
#define NETCLONE_V1MODEL_LENGTHS

#include "../shared/metadata.p4"

const bit<32> MAX_L4_LEN = 4096; /* NC_MAX_L4_LEN */

control Lengths(in headers_t hdr, inout netclone_meta_t nc, in standard_metadata_t standard,
                out bit<32> l4_len) {
    bit<32> l2_len = (bit<32>)ETHERNET_LEN;
    bit<32> ip_header_len = (bit<32>)IPV4_LEN;
    bit<32> ip_len = 0;
    bit<32> l4_header_len = (bit<32>)UDP_LEN;

    apply {
        l4_len = 0;
        bool l4_parsed = hdr.udp.isValid() || hdr.tcp.isValid();
        if (standard.parser_error != error.NoError && !l4_parsed) {
            nc.reason = NC_CTR_runt;
        }
        if (l4_parsed) {
            if (hdr.vlan_outer.isValid()) {
                l2_len = l2_len + (bit<32>)VLAN_LEN;
            }
            if (hdr.vlan_inner.isValid()) {
                l2_len = l2_len + (bit<32>)VLAN_LEN;
            }
            if (hdr.ipv6.isValid()) {
                ip_header_len = (bit<32>)IPV6_LEN;
                ip_len = (bit<32>)hdr.ipv6.payload_len + (bit<32>)IPV6_LEN;
            } else {
                ip_len = (bit<32>)hdr.ipv4.total_len;
            }
            if (hdr.tcp.isValid()) {
                l4_header_len = (bit<32>)hdr.tcp.data_offset << 2;
            }
            l4_len = ip_len - ip_header_len;
            if (ip_len + l2_len > standard.packet_length || l4_len > MAX_L4_LEN) {
                nc.reason = NC_CTR_bad_length;
            } else if (hdr.udp.isValid() && (bit<32>)hdr.udp.length != l4_len) {
                nc.reason = NC_CTR_bad_length;
            } else if (l4_header_len > l4_len) {
                nc.reason = NC_CTR_bad_length;
            } else if (nc.reason != NC_CTR_bad_length &&
                       l4_header_len + (bit<32>)NC_HEADER_LEN > l4_len) {
                nc.reason = NC_CTR_short_payload;
            }
        }
    }
}

#endif
