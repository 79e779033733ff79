/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The forwarding cache: MAC address -> port, one 64-bit word an entry, read and written whole. */
#ifndef NETCLONE_FDB_H
#define NETCLONE_FDB_H

#include "table_access.h"

/* 48 bits, first byte of the address highest. */
#define NC_MAC_OF(mac)                                                                             \
	((nc_u64)nc_ntohs((mac)[0]) << 32 | (nc_u64)nc_ntohs((mac)[1]) << 16 | nc_ntohs((mac)[2]))

NC_INLINE nc_u64 *nc_fdb_slot_of(struct nc_env *env, nc_u64 mac)
{
	return nc_fdb_slot(env, (mac ^ mac >> 12 ^ mac >> 24) & ((1U << NC_FDB_SLOTS_LOG2) - 1));
}

NC_INLINE void nc_learn(struct nc_env *env, const struct nc_packet *p, nc_u32 port)
{
	nc_u64 mac = NC_MAC_OF(p->eth->src), entry = mac << 16 | port;
	nc_u64 *slot;

	if (nc_unlikely(p->tagged || port > 0xffff))
		return;
	slot = nc_fdb_slot_of(env, mac);
	if (slot && *slot != entry)
		*(volatile nc_u64 *)slot = entry;
}

/* Port of the destination MAC address; 0: not known. */
NC_INLINE nc_u32 nc_port_of(struct nc_env *env, const struct nc_packet *p)
{
	nc_u64 mac = NC_MAC_OF(p->eth->dst), entry;
	nc_u64 *slot;

	if (nc_unlikely(p->tagged))
		return 0;
	slot = nc_fdb_slot_of(env, mac);
	if (!slot)
		return 0;
	entry = *(volatile nc_u64 *)slot;
	return entry >> 16 == mac ? (nc_u32)(entry & 0xffff) : 0;
}

#endif
