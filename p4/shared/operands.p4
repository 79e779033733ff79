/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables that the header's fields point into: the ports that NetClone owns, the
 * group table (GrpT), the filter tables that exist, the switch's own id, the server that
 * a response says it comes from. None depends on another. */
#ifndef NETCLONE_P4_OPERANDS
#define NETCLONE_P4_OPERANDS

#include "limits.p4"
#include "metadata.p4"

control Operands(in headers_t hdr, inout netclone_meta_t nc) {
    action to_netclone() {
        nc.to_port = 1;
    }

    table destination_ports {
        key = { nc.destination_port : exact; }
        actions = { to_netclone; NoAction; }
        const default_action = NoAction();
        size = NC_MAX_PORTS;
    }

    action from_netclone() {
        nc.from_port = 1;
    }

    table source_ports {
        key = { nc.source_port : exact; }
        actions = { from_netclone; NoAction; }
        const default_action = NoAction();
        size = NC_MAX_PORTS;
    }

    /* [line 4] */
    action candidates(server_t first, server_t second, usable_t usable_v4, usable_t usable_v6) {
        nc.group_known = 1;
        nc.first = first;
        nc.second = second;
        nc.usable_v4 = usable_v4;
        nc.usable_v6 = usable_v6;
    }

    table groups {
        key = { hdr.netclone.grp : exact; }
        actions = { candidates; NoAction; }
        const default_action = NoAction();
        size = NC_MAX_GROUPS;
    }

    action filter_exists() {
        nc.idx_known = 1;
    }

    table filter_tables {
        key = { hdr.netclone.idx : exact; }
        actions = { filter_exists; NoAction; }
        const default_action = NoAction();
        size = 16;
    }

    action claimed(bit<16> own_id) {
        nc.ours = 1;
        nc.switch_id = own_id;
    }

    table switch_ids {
        key = { hdr.netclone.switch_id : exact; }
        actions = { claimed; NoAction; }
        const default_action = NoAction();
        size = 4;
    }

    action source_is_server() {
        nc.source_known = 1;
    }

    table sources_v4 {
        key = {
            hdr.netclone.sid  : exact;
            hdr.ipv4.src_addr : exact;
        }
        actions = { source_is_server; NoAction; }
        const default_action = NoAction();
        size = NC_MAX_SERVERS;
    }

    table sources_v6 {
        key = {
            hdr.netclone.sid  : exact;
            hdr.ipv6.src_addr : exact;
        }
        actions = { source_is_server; NoAction; }
        const default_action = NoAction();
        size = NC_MAX_SERVERS;
    }

    apply {
        destination_ports.apply();
        source_ports.apply();
        groups.apply();
        filter_tables.apply();
        switch_ids.apply();
        if (hdr.ipv6.isValid()) {
            sources_v6.apply();
        } else {
            sources_v4.apply();
        }
    }
}

#endif
