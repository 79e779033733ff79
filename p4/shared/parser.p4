/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parsing, in the order of docs/data-plane.md. Where it stops says why: nc.reason.
 * The NetClone header is taken whenever there is room for it; whether the packet is
 * NetClone is the role table's to say. An architecture that updates checksums from the
 * parser defines the hooks; the others leave them empty. */
#ifndef NETCLONE_P4_PARSER
#define NETCLONE_P4_PARSER

#include "limits.p4"
#include "metadata.p4"

#ifndef PARSER_CHECKSUM
#define PARSER_CHECKSUM
#define PARSED_ADDRESS(field)
#define PARSED_CHECKSUM(field)
#define PARSED_NETCLONE(header, residual)
#endif

parser NetCloneParser(packet_in pkt, out headers_t hdr, inout netclone_meta_t nc) {
    PARSER_CHECKSUM

    state start {
        pkt.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            ETHERTYPE_VLAN: vlan_outer;
            ETHERTYPE_QINQ: vlan_outer;
            default: accept;
        }
    }

    state vlan_outer {
        pkt.extract(hdr.vlan_outer);
        transition select(hdr.vlan_outer.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            ETHERTYPE_VLAN: vlan_inner;
            ETHERTYPE_QINQ: vlan_inner;
            default: accept;
        }
    }

    state vlan_inner {
        pkt.extract(hdr.vlan_inner);
        transition select(hdr.vlan_inner.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state ipv4 {
        pkt.extract(hdr.ipv4);
        nc.length_gap = IPV4_LEN;
        PARSED_ADDRESS(hdr.ipv4.dst_addr)
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.more_fragments,
                          hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (4, 5, 0, 0, IP_PROTO_UDP): udp;
            (4, 5, 0, 0, IP_PROTO_TCP): tcp_over_ipv4;
            (4, 5, 0, 0, _): accept;
            (4, 5, _, _, _): fragment;
            (4, 0 &&& 0xc, _, _, _): runt;
            (4, 4, _, _, _): runt;
            (4, _, _, _, _): ip_options;
            default: accept;
        }
    }

    state ipv6 {
        pkt.extract(hdr.ipv6);
        nc.length_gap = 0;
        nc.is_ipv6 = 1;
        PARSED_ADDRESS(hdr.ipv6.dst_addr)
        transition select(hdr.ipv6.version, hdr.ipv6.next_header) {
            (6, IP_PROTO_UDP): udp;
            (6, IP_PROTO_TCP): tcp_over_ipv6;
            (6, 44): fragment;
            (6, 0): ipv6_extension;   /* hop by hop */
            (6, 43): ipv6_extension;  /* routing */
            (6, 50): ipv6_extension;  /* ESP */
            (6, 51): ipv6_extension;  /* AH */
            (6, 60): ipv6_extension;  /* destination options */
            (6, 135): ipv6_extension; /* mobility */
            (6, 139): ipv6_extension; /* HIP */
            (6, 140): ipv6_extension; /* shim6 */
            default: accept;
        }
    }

    state runt {
        nc.reason = NC_CTR_runt;
        transition accept;
    }

    state ip_options {
        nc.reason = NC_CTR_ip_options;
        transition accept;
    }

    state fragment {
        nc.reason = NC_CTR_fragment;
        transition accept;
    }

    state ipv6_extension {
        nc.reason = NC_CTR_ipv6_extension;
        transition accept;
    }

    state udp {
        pkt.extract(hdr.udp);
        PARSED_CHECKSUM(hdr.udp.checksum)
        nc.source_port = hdr.udp.src_port;
        nc.destination_port = hdr.udp.dst_port;
        transition select(hdr.udp.length) {
            0 &&& 0xfff8: bad_length; /* shorter than itself */
            4096: netclone; /* more is not looked at (NC_MAX_L4_LEN) */
            0x1000 &&& 0xf000: bad_length;
            0x2000 &&& 0xe000: bad_length;
            0x4000 &&& 0xc000: bad_length;
            0x8000 &&& 0x8000: bad_length;
            0 &&& 0xffe0: accept;
            32 &&& 0xfffc: accept; /* 32 .. 35: no room for 28 bytes */
            default: netclone;
        }
    }

    /* TCP: too short when the IPv4 total length is below 68 + 4n, n words of options. */
    state tcp_over_ipv4 {
        pkt.extract(hdr.tcp);
        PARSED_CHECKSUM(hdr.tcp.checksum)
        nc.source_port = hdr.tcp.src_port;
        nc.destination_port = hdr.tcp.dst_port;
        transition select(hdr.tcp.data_offset, hdr.ipv4.total_len) {
            (0 &&& 0xc, _): bad_length;
            (4, _): bad_length;
            (_, 4117 &&& 0xffff): bad_length;
            (_, 4118 &&& 0xfffe): bad_length;
            (_, 4120 &&& 0xfff8): bad_length;
            (_, 4128 &&& 0xffe0): bad_length;
            (_, 4160 &&& 0xffc0): bad_length;
            (_, 4224 &&& 0xff80): bad_length;
            (_, 4352 &&& 0xff00): bad_length;
            (_, 4608 &&& 0xfe00): bad_length;
            (_, 5120 &&& 0xfc00): bad_length;
            (_, 6144 &&& 0xf800): bad_length;
            (_, 8192 &&& 0xe000): bad_length;
            (_, 16384 &&& 0xc000): bad_length;
            (_, 32768 &&& 0x8000): bad_length;
            (_, 0 &&& 0xffe0): bad_length;        /* the header alone: 40 + 4n */
            (_, 32 &&& 0xfff8): bad_length;
            (6 &&& 0xe, 40 &&& 0xfffc): bad_length;
            (8 &&& 0x8, 40 &&& 0xfffc): bad_length;
            (7, 44 &&& 0xfffc): bad_length;
            (8 &&& 0x8, 44 &&& 0xfffc): bad_length;
            (8 &&& 0x8, 48 &&& 0xfffc): bad_length;
            (9, 52 &&& 0xfffc): bad_length;
            (10 &&& 0xe, 52 &&& 0xfffc): bad_length;
            (12 &&& 0xc, 52 &&& 0xfffc): bad_length;
            (10 &&& 0xe, 56 &&& 0xfffc): bad_length;
            (12 &&& 0xc, 56 &&& 0xfffc): bad_length;
            (11, 60 &&& 0xfffc): bad_length;
            (12 &&& 0xc, 60 &&& 0xfffc): bad_length;
            (12 &&& 0xc, 64 &&& 0xfffc): bad_length;
            (13, 68 &&& 0xfffc): bad_length;
            (14 &&& 0xe, 68 &&& 0xfffc): bad_length;
            (14 &&& 0xe, 72 &&& 0xfffc): bad_length;
            (15, 76 &&& 0xfffc): bad_length;
            (_, 0 &&& 0xffc0): accept;            /* all: below 64 */
            (_, 64 &&& 0xfffc): accept;           /* all: below 68 */
            (6 &&& 0xe, 64 &&& 0xfff8): accept;   /* n = 1, 2: below 72 */
            (7, 72 &&& 0xfffc): accept;           /* n = 2: below 76 */
            (8 &&& 0x8, 64 &&& 0xfff0): accept;   /* n >= 3: below 80 */
            (9, 80 &&& 0xfffc): accept;           /* n = 4: below 84 */
            (10 &&& 0xe, 80 &&& 0xfff8): accept;  /* n = 5, 6: below 88 */
            (11, 88 &&& 0xfffc): accept;          /* n = 6: below 92 */
            (12 &&& 0xc, 80 &&& 0xfff0): accept;  /* n >= 7: below 96 */
            (13, 96 &&& 0xfffc): accept;          /* n = 8: below 100 */
            (14 &&& 0xe, 96 &&& 0xfff8): accept;  /* n = 9, 10: below 104 */
            (15, 104 &&& 0xfffc): accept;         /* n = 10: below 108 */
            default: tcp_options;
        }
    }

    /* The same for the IPv6 payload length, below 48 + 4n. */
    state tcp_over_ipv6 {
        pkt.extract(hdr.tcp);
        PARSED_CHECKSUM(hdr.tcp.checksum)
        nc.source_port = hdr.tcp.src_port;
        nc.destination_port = hdr.tcp.dst_port;
        transition select(hdr.tcp.data_offset, hdr.ipv6.payload_len) {
            (0 &&& 0xc, _): bad_length;
            (4, _): bad_length;
            (_, 4097 &&& 0xffff): bad_length;
            (_, 4098 &&& 0xfffe): bad_length;
            (_, 4100 &&& 0xfffc): bad_length;
            (_, 4104 &&& 0xfff8): bad_length;
            (_, 4112 &&& 0xfff0): bad_length;
            (_, 4128 &&& 0xffe0): bad_length;
            (_, 4160 &&& 0xffc0): bad_length;
            (_, 4224 &&& 0xff80): bad_length;
            (_, 4352 &&& 0xff00): bad_length;
            (_, 4608 &&& 0xfe00): bad_length;
            (_, 5120 &&& 0xfc00): bad_length;
            (_, 6144 &&& 0xf800): bad_length;
            (_, 8192 &&& 0xe000): bad_length;
            (_, 16384 &&& 0xc000): bad_length;
            (_, 32768 &&& 0x8000): bad_length;
            (_, 0 &&& 0xfff0): bad_length;        /* the header alone: 20 + 4n */
            (_, 16 &&& 0xfffc): bad_length;
            (6 &&& 0xe, 20 &&& 0xfffc): bad_length;
            (8 &&& 0x8, 20 &&& 0xfffc): bad_length;
            (7, 24 &&& 0xfffc): bad_length;
            (8 &&& 0x8, 24 &&& 0xfffc): bad_length;
            (8 &&& 0x8, 28 &&& 0xfffc): bad_length;
            (9, 32 &&& 0xfffc): bad_length;
            (10 &&& 0xe, 32 &&& 0xfffc): bad_length;
            (12 &&& 0xc, 32 &&& 0xfffc): bad_length;
            (10 &&& 0xe, 36 &&& 0xfffc): bad_length;
            (12 &&& 0xc, 36 &&& 0xfffc): bad_length;
            (11, 40 &&& 0xfffc): bad_length;
            (12 &&& 0xc, 40 &&& 0xfffc): bad_length;
            (12 &&& 0xc, 44 &&& 0xfffc): bad_length;
            (13, 48 &&& 0xfffc): bad_length;
            (14 &&& 0xe, 48 &&& 0xfffc): bad_length;
            (14 &&& 0xe, 52 &&& 0xfffc): bad_length;
            (15, 56 &&& 0xfffc): bad_length;
            (_, 0 &&& 0xffe0): accept;            /* all: below 32 */
            (_, 32 &&& 0xfff0): accept;           /* all: below 48 */
            (6 &&& 0xe, 48 &&& 0xfffc): accept;   /* n = 1, 2: below 52 */
            (7, 52 &&& 0xfffc): accept;           /* n = 2: below 56 */
            (8 &&& 0x8, 48 &&& 0xfff8): accept;   /* n >= 3: below 56 */
            (8 &&& 0x8, 56 &&& 0xfffc): accept;   /* n >= 3: below 60 */
            (9, 60 &&& 0xfffc): accept;           /* n = 4: below 64 */
            (10 &&& 0xe, 60 &&& 0xfffc): accept;  /* n = 5, 6: below 64 */
            (10 &&& 0xe, 64 &&& 0xfffc): accept;  /* n = 5, 6: below 68 */
            (11, 68 &&& 0xfffc): accept;          /* n = 6: below 72 */
            (12 &&& 0xc, 60 &&& 0xfffc): accept;  /* n >= 7: below 64 */
            (12 &&& 0xc, 64 &&& 0xfff8): accept;  /* n >= 7: below 72 */
            (12 &&& 0xc, 72 &&& 0xfffc): accept;  /* n >= 7: below 76 */
            (13, 76 &&& 0xfffc): accept;          /* n = 8: below 80 */
            (14 &&& 0xe, 76 &&& 0xfffc): accept;  /* n = 9, 10: below 80 */
            (14 &&& 0xe, 80 &&& 0xfffc): accept;  /* n = 9, 10: below 84 */
            (15, 84 &&& 0xfffc): accept;          /* n = 10: below 88 */
            default: tcp_options;
        }
    }

    state bad_length {
        nc.reason = NC_CTR_bad_length;
        transition accept;
    }

    /* Words of options, n = data offset - 5, by the bits of n. */
    state tcp_options {
        transition select(hdr.tcp.data_offset) {
            5: netclone;
            6: tcp_options_1;
            7: tcp_options_2;
            8: tcp_options_2_1;
            9: tcp_options_4;
            10: tcp_options_4_1;
            11: tcp_options_4_2;
            12: tcp_options_4_2_1;
            13: tcp_options_8;
            14: tcp_options_8_1;
            15: tcp_options_8_2;
        }
    }

    state tcp_options_8 {
        pkt.extract(hdr.tcp_options_8);
        transition netclone;
    }

    state tcp_options_8_1 {
        pkt.extract(hdr.tcp_options_8);
        transition tcp_options_1;
    }

    state tcp_options_8_2 {
        pkt.extract(hdr.tcp_options_8);
        transition tcp_options_2;
    }

    state tcp_options_4 {
        pkt.extract(hdr.tcp_options_4);
        transition netclone;
    }

    state tcp_options_4_1 {
        pkt.extract(hdr.tcp_options_4);
        transition tcp_options_1;
    }

    state tcp_options_4_2 {
        pkt.extract(hdr.tcp_options_4);
        transition tcp_options_2;
    }

    state tcp_options_4_2_1 {
        pkt.extract(hdr.tcp_options_4);
        transition tcp_options_2_1;
    }

    state tcp_options_2 {
        pkt.extract(hdr.tcp_options_2);
        transition netclone;
    }

    state tcp_options_2_1 {
        pkt.extract(hdr.tcp_options_2);
        transition tcp_options_1;
    }

    state tcp_options_1 {
        pkt.extract(hdr.tcp_options_1);
        transition netclone;
    }

    state netclone {
        pkt.extract(hdr.netclone);
        PARSED_NETCLONE(hdr.netclone, nc.l4_residual)
        transition accept;
    }
}

#endif
