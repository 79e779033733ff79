/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a switch does to any packet that it sends on: the port, the addresses and the checksum
 * (docs/data-plane.md, "Switch" and "Checksums"). */
#ifndef NETCLONE_FORWARDING_H
#define NETCLONE_FORWARDING_H

#include "checksum.h"
#include "table_access.h"
#include "verifier.h"

/* ---- ports: MAC address -> port, one 64-bit word per entry, read and written whole. What the
 * topology gives to somebody is fixed: nobody else may have it learned for another port. ---- */

/* 48 bits, first byte of the address highest. */
#define NC_MAC_OF(mac)                                                                             \
	((nc_u64)nc_ntohs((mac)[0]) << 32 | (nc_u64)nc_ntohs((mac)[1]) << 16 | nc_ntohs((mac)[2]))

NC_INLINE nc_u64 *nc_fdb_slot_of(struct nc_env *env, nc_u64 mac)
{
	return nc_fdb_slot(env, (mac ^ mac >> 12 ^ mac >> 24) & ((1U << NC_FDB_SLOTS_LOG2) - 1));
}

NC_INLINE void nc_learn(struct nc_env *env, const struct nc_packet *p, nc_u32 port)
{
	nc_u64 mac = NC_MAC_OF(p->eth->src), entry = mac << 16 | port, known;
	nc_u64 *slot;

	if (nc_unlikely(p->tagged || port > 0xffff || entry & NC_FDB_FIXED))
		return;
	slot = nc_fdb_slot_of(env, mac);
	known = slot ? *(volatile nc_u64 *)slot : NC_FDB_FIXED;
	if (known != entry && !(known & NC_FDB_FIXED))
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
	entry = *(volatile nc_u64 *)slot & ~NC_FDB_FIXED;
	return entry >> 16 == mac ? (nc_u32)(entry & 0xffff) : 0;
}

/* ---- addresses ---- */

/* From the address, and by the port, that this server has. */
NC_INLINE int nc_is_from(const struct nc_packet *p, const struct nc_server *s, nc_u32 in_port)
{
	const struct nc_ip6 *ip6 = nc_ip6_of(p);

	if (!s || !(s->flags & NC_SERVER_VALID) || s->ifindex != in_port)
		return 0;
	if (!ip6)
		return s->ip4 && nc_ip4_of(p)->src == s->ip4;
	return (s->ip6[0] | s->ip6[1] | s->ip6[2] | s->ip6[3]) != 0 && ip6->src[0] == s->ip6[0] &&
	       ip6->src[1] == s->ip6[1] && ip6->src[2] == s->ip6[2] && ip6->src[3] == s->ip6[3];
}

/* Writes the server's addresses, MAC and IP, as the destination; returns what that adds to the L4
 * sum by way of the pseudo header. */
NC_INLINE nc_u64 nc_readdress(struct nc_packet *p, const struct nc_server *s)
{
	struct nc_ip6 *ip6;
	nc_u64 diff = 0;

	__builtin_memcpy(p->eth->dst, s->mac, sizeof(s->mac));
	ip6 = nc_ip6_of(p);
	if (!ip6) {
		diff = nc_diff32(nc_ip4_of(p)->dst, s->ip4);
		nc_ip4_of(p)->check = nc_check_updated(nc_ip4_of(p)->check, diff);
		nc_ip4_of(p)->dst = s->ip4;
		return diff;
	}
	for (int i = 0; i < 4; i++) {
		diff += nc_diff32(ip6->dst[i], s->ip6[i]);
		ip6->dst[i] = s->ip6[i];
	}
	return diff;
}

/* ---- L4 checksums: taken before anything is written, put back with what has changed ---- */

enum nc_sum_kind {
	NC_SUM_NONE,	  /* UDP over IPv4 without a checksum */
	NC_SUM_FULL,	  /* `check` is the packet's checksum */
	NC_SUM_PARTIAL,	  /* `check` is the sum of the pseudo header, and is to stay that */
	NC_SUM_AMBIGUOUS, /* one of the two, and which cannot be told */
};

struct nc_sum {
	nc_u32 kind; /* enum nc_sum_kind */
	nc_u16 check;
};

/* For a UDP packet: neither missing nor partial. */
NC_INLINE int nc_is_full_sum(const struct nc_packet *p)
{
	nc_u16 check = nc_l4_check(p);

	return check != 0 && check != nc_pseudo_sum(p);
}

/* A redirected frame loses the mark that says "partial": native mode takes the full checksum of
 * such a packet. In generic mode the mark survives and the sum must stay partial; but a sum
 * that is also right as a full one could be either, and after a rewrite they differ.
 * UDP over IPv6 that came without a checksum must leave with one. */
NC_INLINE struct nc_sum nc_take_sum(const struct nc_packet *p, int generic)
{
	struct nc_sum sum = {NC_SUM_FULL, nc_l4_check(p)};
	nc_u16 pseudo, bytes;

	if (nc_has_no_check(p)) {
		sum.kind = NC_SUM_NONE;
		return sum;
	}
	pseudo = nc_pseudo_sum(p);
	if (nc_likely(sum.check != pseudo && !(sum.check == 0 && p->protocol == NC_PROTO_UDP)))
		return sum;
	bytes = nc_frame_sum(p->frame, p->l4_offset, p->l4_len);
	if (sum.check == 0) {
		sum.check = (nc_u16)~nc_fold((nc_u64)bytes + pseudo);
	} else if (!generic) {
		sum.check = (nc_u16)~bytes; /* which already hold the pseudo header's sum */
	} else {
		/* With a right checksum in them, and the pseudo header, bytes sum to all ones. */
		sum.kind = nc_fold((nc_u64)bytes + pseudo) == 0xffff ? NC_SUM_AMBIGUOUS
								     : NC_SUM_PARTIAL;
	}
	return sum;
}

/* However it was taken: one path from here (verifier.h). */
NC_INLINE void nc_merge_sum(const struct nc_packet *p, struct nc_sum *sum)
{
	nc_u32 zero = nc_opaque_zero(p->l3);

	sum->kind ^= zero * 3;
	sum->check ^= -zero;
}

/* `payload` is what the header's fields and `pseudo` what the addresses add. A partial sum
 * covers only the pseudo header, and is not complemented. */
NC_INLINE void nc_put_sum(struct nc_packet *p, const struct nc_sum *sum, nc_u64 pseudo,
			  nc_u64 payload)
{
	if (sum->kind == NC_SUM_NONE)
		return;
	if (nc_unlikely(sum->kind == NC_SUM_PARTIAL))
		nc_set_l4_check(p, nc_fold((nc_u64)sum->check + pseudo));
	else
		nc_set_l4_check(p, nc_check_updated(sum->check, pseudo + payload));
}

#endif
