/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ordinary forwarding, for everything that NetClone does not address itself: a table of
 * hosts by MAC address, and routes for frames sent to the switch's own. */
#ifndef NETCLONE_P4_FORWARD
#define NETCLONE_P4_FORWARD

#include "limits.p4"
#include "metadata.p4"

control Hosts(in headers_t hdr, inout netclone_meta_t nc) {
    action to_port(port_t port) {
        nc.host_known = 1;
        nc.out_port = port;
    }

    action flood() {
        nc.multicast = MULTICAST_FLOOD;
    }

    action discard() {
        nc.lost = 1;
    }

    table hosts {
        key = { hdr.ethernet.dst_addr : exact; }
        actions = { to_port; flood; discard; }
        default_action = discard();
        size = HOST_TABLE_SIZE;
    }

    apply {
        hosts.apply();
    }
}

control Routes(inout headers_t hdr, inout netclone_meta_t nc) {
    action route_ipv4(mac_t next_hop, mac_t own, port_t port) {
        hdr.ethernet.dst_addr = next_hop;
        hdr.ethernet.src_addr = own;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        nc.ipv4_changed = 1;
        nc.out_port = port;
        nc.lost = 0;
        nc.multicast = MULTICAST_NONE;
    }

    action route_ipv6(mac_t next_hop, mac_t own, port_t port) {
        hdr.ethernet.dst_addr = next_hop;
        hdr.ethernet.src_addr = own;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        nc.out_port = port;
        nc.lost = 0;
        nc.multicast = MULTICAST_NONE;
    }

    action unreachable() {
        nc.lost = 1;
    }

    table stations {
        key = { hdr.ethernet.dst_addr : exact; }
        actions = { NoAction; }
        const default_action = NoAction();
        size = STATION_TABLE_SIZE;
    }

    table routes_v4 {
        key = { hdr.ipv4.dst_addr : lpm; }
        actions = { route_ipv4; unreachable; }
        const default_action = unreachable();
        size = ROUTE_TABLE_SIZE;
    }

    table routes_v6 {
        key = { hdr.ipv6.dst_addr : lpm; }
        actions = { route_ipv6; unreachable; }
        const default_action = unreachable();
        size = ROUTE_TABLE_SIZE;
    }

    apply {
        if (stations.apply().hit) {
            /* No options: their checksum is not this program's to make. */
            if (hdr.ipv4.isValid() && hdr.ipv4.ihl == 5 && hdr.ipv4.ttl > 1) {
                routes_v4.apply();
            } else if (hdr.ipv6.isValid() && hdr.ipv6.hop_limit > 1) {
                routes_v6.apply();
            } else {
                unreachable();
            }
        }
    }
}

#endif
