/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which request is this: fingerprints and slots (docs/data-plane.md, "Words";
 * section 3.5 of the paper). */
#ifndef NETCLONE_IDENTITY_H
#define NETCLONE_IDENTITY_H

#include "packet.h"

enum {
	NC_FP_PKT_SHIFT = 48,
	NC_FP_CLIENT_SHIFT = 32,
};
#define NC_FP_PRESENT (1ULL << 56)
#define NC_FP_CLIENT_ID (1ULL << 57)
#define NC_FP_MULTI (1ULL << 58)
#define NC_FP_ATTEMPT_SHIFT 59 /* five bits, in a filter table only */
/* Decisions in an entry of the cloned-request table. */
#define NC_REQUEST_CLONED (1ULL << 59)
#define NC_REQUEST_SECOND (1ULL << 60)
#define NC_REQUEST_CHOICE_SHIFT 59
#define NC_REQUEST_DECISION (NC_REQUEST_CLONED | NC_REQUEST_SECOND)

/* Two ways through the switch. Most packets use nothing but Algorithm 1: they go by the plain
 * way, where no extension of section 3.7, and nothing that goes beyond the paper, is asked for.
 * The other way is for all packets. Which one, is asked once (nc_way_of in switch.h). */
enum nc_way {
	NC_WAY_PLAIN,
	NC_WAY_ANY,
};

/* A condition that only extensions can make true. With NC_PAPER_ONLY they are left out; what
 * they cost is measured against that. */
#ifdef NC_PAPER_ONLY
#define nc_extension(way, x) ((way) == NC_WAY_ANY && (x) && 0)
#else
#define nc_extension(way, x) ((way) == NC_WAY_ANY && nc_unlikely(x))
#endif

/* 0, from the TYPE of a request. */
NC_INLINE nc_u32 nc_opaque_zero(const struct nc_header *request)
{
	return nc_byte_at(request, __builtin_offsetof(struct nc_header, type)) & 0xf;
}
_Static_assert(NC_TYPE_REQ == 0, "nc_opaque_zero");

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

/* One key for all packets of a message. */
NC_INLINE nc_u64 nc_request_key(enum nc_way way, const struct nc_header *h, nc_u32 req_id)
{
	nc_u64 key = NC_FP_PRESENT | req_id;

	if (nc_extension(way, nc_has_client_id(h)))
		key |= NC_FP_CLIENT_ID | (nc_u64)nc_ntohs(h->client_id) << NC_FP_CLIENT_SHIFT;
	return key;
}

NC_INLINE nc_u64 nc_fingerprint(enum nc_way way, const struct nc_header *h, nc_u32 req_id)
{
	nc_u64 fingerprint = nc_request_key(way, h, req_id);

	if (nc_extension(way, nc_is_multi_packet(h)))
		fingerprint |= NC_FP_MULTI | (nc_u64)h->pkt_index << NC_FP_PKT_SHIFT;
	return fingerprint;
}

/* Slot of a fingerprint or request key in a table of mask + 1 slots. */
NC_INLINE nc_u32 nc_slot(nc_u64 fingerprint, nc_u32 mask)
{
	nc_u32 client = (nc_u32)(fingerprint >> NC_FP_CLIENT_SHIFT) & 0xffff;
	nc_u32 pkt = (nc_u32)(fingerprint >> NC_FP_PKT_SHIFT) & 0xff;

	return ((nc_u32)fingerprint ^ pkt << 7 ^ client << 11 ^ client >> 6) & mask;
}

/* Slot of a request key in the tables of requests. */
NC_INLINE nc_u32 nc_request_index(nc_u64 key)
{
	return nc_slot(key, (1U << NC_REQUEST_SLOTS_LOG2) - 1);
}

/* Mixes 64 bits well enough to pick slots and groups. */
NC_INLINE nc_u64 nc_mix(nc_u64 x)
{
	x *= 0x9e3779b97f4a7c15ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	return x ^ x >> 29;
}

#endif
