/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The forwarding cache: source MAC and port of the requests that the switch acts on, and
 * the servers' from the start. Frames with a VLAN tag neither use nor fill it. */
#ifndef NETCLONE_V1MODEL_FDB
#define NETCLONE_V1MODEL_FDB

#include "../shared/metadata.p4"

const bit<32> FDB_SLOTS = 4096; /* NC_FDB_SLOTS_LOG2 */

/* The port stands above the address: Thrift's integers are signed, and a word that began with
 * an address from 80:.. up would not pass. */
register<bit<64>>(FDB_SLOTS) fdb;

#define FDB_SLOT(mac) ((bit<32>)(mac ^ (mac >> 12) ^ (mac >> 24)) & (FDB_SLOTS - 1))

control LookUpHost(in headers_t hdr, inout netclone_meta_t nc) {
    bit<64> entry;

    apply {
        if (!hdr.vlan_outer.isValid()) {
            fdb.read(entry, FDB_SLOT(hdr.ethernet.dst_addr));
            if (entry[47:0] == hdr.ethernet.dst_addr && entry != 0) {
                nc.host_known = 1;
                nc.out_port = entry[56:48];
            }
        }
    }
}

control LearnHost(in headers_t hdr, in port_t port) {
    apply {
        if (!hdr.vlan_outer.isValid()) {
            fdb.write(FDB_SLOT(hdr.ethernet.src_addr), 7w0 ++ port ++ hdr.ethernet.src_addr);
        }
    }
}

#endif
