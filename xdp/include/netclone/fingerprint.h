/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which request is this: fingerprints, request keys and their slots (docs/data-plane.md, "Words";
 * sections 3.5 and 3.7 of the paper). */
#ifndef NETCLONE_FINGERPRINT_H
#define NETCLONE_FINGERPRINT_H

#include "wire.h"

enum {
	NC_FP_PKT_SHIFT = 48,
	NC_FP_CLIENT_SHIFT = 32,
};
#define NC_FP_PRESENT (1ULL << 56)
#define NC_FP_CLIENT_ID (1ULL << 57)
#define NC_FP_MULTI (1ULL << 58)
#define NC_FP_FREE_SHIFT 59 /* five bits that tables may use */

/* TCP, and any client that wants to (section 3.7): REQ_ID is the client's, and is left alone. */
NC_INLINE int nc_has_client_id(const struct nc_header *h)
{
	return h->flags & NC_FLAG_CLIENT_ID_VALID;
}

NC_INLINE int nc_is_multi_packet(const struct nc_header *h)
{
	return h->pkt_count > 1;
}

NC_INLINE int nc_is_identified(const struct nc_header *h)
{
	return nc_has_client_id(h) || h->req_id != 0;
}

/* Of a single packet whose id a switch has assigned: all that Algorithm 1 knows. */
NC_INLINE nc_u64 nc_fingerprint_of_id(nc_u32 req_id)
{
	return NC_FP_PRESENT | req_id;
}

/* Mixes 64 bits well enough to pick slots and groups. */
NC_INLINE nc_u64 nc_mix(nc_u64 x)
{
	x *= 0x9e3779b97f4a7c15ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	return x ^ x >> 29;
}

/* Who asked, in 24 bits, from the client's address, 64 bits at a time (IPv4: its 32), and port. Two
 * clients may have chosen the same id; and without the secret nobody can find a second address
 * and port that look like a client's. */
NC_INLINE nc_u32 nc_hash_of_ip4(nc_u64 secret, nc_u32 address, nc_u32 port)
{
	return (nc_u32)(nc_mix(nc_mix(secret ^ address) ^ port) >> 40);
}

NC_INLINE nc_u32 nc_hash_of_ip6(nc_u64 secret, nc_u64 high, nc_u64 low, nc_u32 port)
{
	return (nc_u32)(nc_mix(nc_mix(nc_mix(secret ^ high) ^ low) ^ port) >> 40);
}

/* One key for all packets of a message. `who` asked: nc_who_asked. */
NC_INLINE nc_u64 nc_request_key(const struct nc_header *h, nc_u32 who)
{
	nc_u64 key = nc_fingerprint_of_id(nc_ntohl(h->req_id));

	if (nc_unlikely(nc_has_client_id(h)))
		key |= NC_FP_CLIENT_ID | (nc_u64)(nc_ntohs(h->client_id) ^ who)
						 << NC_FP_CLIENT_SHIFT;
	return key;
}

NC_INLINE nc_u64 nc_fingerprint(const struct nc_header *h, nc_u32 who)
{
	nc_u64 fingerprint = nc_request_key(h, who);

	if (nc_unlikely(nc_is_multi_packet(h)))
		fingerprint ^= NC_FP_MULTI | (nc_u64)h->pkt_index << NC_FP_PKT_SHIFT;
	return fingerprint;
}

/* Slot of a fingerprint or request key in a table of mask + 1 slots. */
NC_INLINE nc_u32 nc_slot(nc_u64 fingerprint, nc_u32 mask)
{
	nc_u32 client = (nc_u32)(fingerprint >> NC_FP_CLIENT_SHIFT) & 0xffff;
	nc_u32 pkt = (nc_u32)(fingerprint >> NC_FP_PKT_SHIFT) & 0xff;

	return ((nc_u32)fingerprint ^ pkt << 7 ^ client << 11 ^ client >> 6) & mask;
}

#endif
