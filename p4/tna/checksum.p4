/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which checksums the deparser has to update, of a packet that NetClone changes. UDP without a
 * checksum stays without. */
#ifndef NETCLONE_TNA_CHECKSUM
#define NETCLONE_TNA_CHECKSUM

#include "../shared/metadata.p4"

control ChangedChecksums(in headers_t hdr, inout netclone_meta_t nc) {
    action udp() {
        nc.udp_changed = 1;
        nc.ipv4_changed = 1;
    }

    action udp_without() {
        nc.ipv4_changed = 1;
    }

    action tcp() {
        nc.tcp_changed = 1;
        nc.ipv4_changed = 1;
    }

    table changed {
        key = {
            hdr.tcp.isValid() : ternary;
            hdr.udp.checksum  : ternary;
        }
        actions = { udp; udp_without; tcp; NoAction; }
        const default_action = NoAction();
        const entries = {
            (true, _) : tcp();
            (_, 0)    : udp_without();
            (_, _)    : udp();
        }
        size = 8;
    }

    apply {
        changed.apply();
    }
}

#endif
