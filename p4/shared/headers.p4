/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is parsed around the NetClone header. */
#ifndef NETCLONE_P4_HEADERS
#define NETCLONE_P4_HEADERS

#include "wire.p4"

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<128> ipv6_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_QINQ = 0x88a8;

const bit<8> IP_PROTO_TCP = 6;
const bit<8> IP_PROTO_UDP = 17;

const bit<16> ETHERNET_LEN = 14;
const bit<16> VLAN_LEN = 4;
const bit<16> IPV4_LEN = 20;
const bit<16> IPV6_LEN = 40;
const bit<16> UDP_LEN = 8;

header ethernet_h {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

header vlan_h {
    bit<16> tci;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<16> identification;
    bit<1>  reserved;
    bit<1>  dont_fragment;
    bit<1>  more_fragments;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
}

header ipv6_h {
    bit<4>  version;
    bit<8>  traffic_class;
    bit<20> flow_label;
    bit<16> payload_len;
    bit<8>  next_header;
    bit<8>  hop_limit;
    ipv6_t  src_addr;
    ipv6_t  dst_addr;
}

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header tcp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4>  data_offset;
    bit<12> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

/* TCP options, 0 .. 10 words, in binary: an ASIC's parser extracts fixed sizes only. */
header tcp_options_1_h { bit<32> words; }
header tcp_options_2_h { bit<64> words; }
header tcp_options_4_h { bit<128> words; }
header tcp_options_8_h { bit<128> words; bit<128> more; }

/* In the order in which they are sent. */
struct headers_t {
    ethernet_h      ethernet;
    vlan_h          vlan_outer;
    vlan_h          vlan_inner;
    ipv4_h          ipv4;
    ipv6_h          ipv6;
    udp_h           udp;
    tcp_h           tcp;
    tcp_options_8_h tcp_options_8;
    tcp_options_4_h tcp_options_4;
    tcp_options_2_h tcp_options_2;
    tcp_options_1_h tcp_options_1;
    netclone_h      netclone;
}

#endif
