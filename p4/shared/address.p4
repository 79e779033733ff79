/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The address table (AddrT), from a server's id to its address and port: [line 5] for the
 * original, [line 13] for the clone. */
#ifndef NETCLONE_P4_ADDRESS
#define NETCLONE_P4_ADDRESS

#include "limits.p4"
#include "metadata.p4"

control Address(inout headers_t hdr, inout netclone_meta_t nc) {
    action to_ipv4(ipv4_t address, mac_t mac, port_t port) {
        hdr.ipv4.dst_addr = address;
        hdr.ethernet.dst_addr = mac;
        nc.out_port = port;
    }

    action to_ipv6(ipv6_t address, mac_t mac, port_t port) {
        hdr.ipv6.dst_addr = address;
        hdr.ethernet.dst_addr = mac;
        nc.out_port = port;
    }

    /* Only a clone gets here: the group table names no server that is not in this one,
     * but between its two passes a server can go. */
    action gone() {
        nc.lost = 1;
        nc.reason = NC_CTR_clone_lost;
    }

    table addresses_v4 {
        key = { nc.chosen : exact; }
        actions = { to_ipv4; gone; }
        const default_action = gone();
        size = NC_MAX_SERVERS;
    }

    table addresses_v6 {
        key = { nc.chosen : exact; }
        actions = { to_ipv6; gone; }
        const default_action = gone();
        size = NC_MAX_SERVERS;
    }

    apply {
        if (hdr.ipv6.isValid()) {
            addresses_v6.apply();
        } else {
            addresses_v4.apply();
        }
    }
}

#endif
