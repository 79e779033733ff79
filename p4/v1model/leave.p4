/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where simple_switch is told what becomes of a packet. */
#ifndef NETCLONE_V1MODEL_LEAVE
#define NETCLONE_V1MODEL_LEAVE

#include "../shared/metadata.p4"

control Leave(in netclone_meta_t nc, inout standard_metadata_t standard) {
    apply {
        if (nc.lost == 1) {
            mark_to_drop(standard);
        } else if (nc.multicast != MULTICAST_NONE) {
            standard.mcast_grp = nc.multicast;
        } else {
            standard.egress_spec = nc.out_port;
        }
    }
}

#endif
