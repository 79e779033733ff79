/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Headers in the order in which they were parsed; those that were not are not sent. */
#ifndef NETCLONE_P4_DEPARSER
#define NETCLONE_P4_DEPARSER

#include "headers.p4"

control Emit(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.vlan_outer);
        pkt.emit(hdr.vlan_inner);
        pkt.emit(hdr.ipv4);
        pkt.emit(hdr.ipv6);
        pkt.emit(hdr.udp);
        pkt.emit(hdr.tcp);
        pkt.emit(hdr.tcp_options_8);
        pkt.emit(hdr.tcp_options_4);
        pkt.emit(hdr.tcp_options_2);
        pkt.emit(hdr.tcp_options_1);
        pkt.emit(hdr.netclone);
    }
}

#endif
